//! What a turn of the loop costs, beside the agent crate of rig in the same run.
//!
//! Both loops get the same script, a model that only counts, and the same host tool: one call a turn, whose result
//! goes back to the model. Runs of both take turns, so that noise of the machine hits both alike; times are those the
//! processor spent on the one thread, and figures are medians. Then how cost grows, for both: the last turns of a long
//! run against its first, and a thousand calls in one reply against what 125, 250 and 500 foretell.

mod our_turns;
mod their_turns;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use hotcell_benches::{Samples, micros, print};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use self::our_turns::Ours;
use self::their_turns::Theirs;

/// Runs of each loop, of how many turns.
const ROUNDS: usize = 300;
const TURNS: usize = 20;

/// Long runs of each loop, of how many turns, and how many of these are compared.
const LONG_ROUNDS: usize = 5;
const LONG_TURNS: usize = 1_000;
const EDGE: usize = 20;

/// Batches: how often each, and how many calls in one reply.
const BATCH_ROUNDS: usize = 15;
const BATCHES: [usize; 3] = [125, 250, 500];
const LARGE_BATCH: usize = 1_000;

/// What both models play: replies with calls, then an answer. It notes when it was asked.
#[derive(Debug, Clone)]
struct Script {
    turns: usize,
    calls: usize,
    asked: Arc<Mutex<Vec<Duration>>>,
}

impl Script {
    fn new(turns: usize, calls: usize) -> Self {
        Self { turns, calls, asked: Arc::new(Mutex::new(Vec::with_capacity(turns + 1))) }
    }

    /// The ids of the calls of the next reply; `None` when the next reply is the answer.
    fn next(&self) -> Option<Vec<String>> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = asked.len();
        asked.push(spent());
        (turn < self.turns).then(|| (0..self.calls).map(|n| format!("call-{turn}-{n}")).collect())
    }

    /// The time from each request to the next: one reply, its calls, and what the loop does in between.
    fn times(&self) -> Vec<Duration> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().zip(asked.iter().skip(1)).map(|(from, to)| to.saturating_sub(*from)).collect()
    }
}

/// What the processor has spent on this thread, so that whatever else runs on the machine costs nothing.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let whole = |part: i64| u64::try_from(part).unwrap_or_default();
    Duration::from_secs(whole(time.tv_sec)) + Duration::from_nanos(whole(time.tv_nsec))
}

/// A loop under test.
trait Loop {
    /// Plays the whole script in one run.
    async fn play(&self, script: &Script) -> Result<()>;
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (ours, theirs) = (Ours::new()?, Theirs);
    let turns = turns(&runtime, &ours, &theirs)?;
    let growth = json!({ "ours": growth(&runtime, &ours)?, "theirs": growth(&runtime, &theirs)? });
    let batches = json!({ "ours": batches(&runtime, &ours)?, "theirs": batches(&runtime, &theirs)? });
    print(&json!({
        "bench": "turns",
        "goals": { "ratio": 1.5, "last_to_first": 1.1, "to_linear": 1.2 },
        "turn": turns,
        "turns_of_a_long_run": growth,
        "calls_in_one_reply": batches,
    }));
    Ok(())
}

/// Time of each turn of one run.
fn one_run(runtime: &Runtime, subject: &impl Loop, turns: usize, calls: usize) -> Result<Vec<Duration>> {
    let script = Script::new(turns, calls);
    runtime.block_on(subject.play(&script))?;
    let times = script.times();
    ensure!(times.len() == turns, "the script has {turns} turns, the run took {}", times.len());
    Ok(times)
}

/// The median turn of short runs of both, one run of each at a time.
fn turns(runtime: &Runtime, ours: &Ours, theirs: &Theirs) -> Result<Value> {
    let (mut our_times, mut their_times) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        our_times.extend(one_run(runtime, ours, TURNS, 1)?);
        their_times.extend(one_run(runtime, theirs, TURNS, 1)?);
    }
    let ratio = micros(our_times.percentile(50)) / micros(their_times.percentile(50));
    Ok(json!({ "ours": our_times.to_json(), "theirs": their_times.to_json(), "ratio": ratio }))
}

/// The last turns of long runs against the first.
fn growth(runtime: &Runtime, subject: &impl Loop) -> Result<Value> {
    let (mut first, mut last) = (Samples::default(), Samples::default());
    for _ in 0..LONG_ROUNDS {
        let times = one_run(runtime, subject, LONG_TURNS, 1)?;
        first.extend(times.iter().take(EDGE).copied());
        last.extend(times.iter().rev().take(EDGE).copied());
    }
    let ratio = micros(last.percentile(50)) / micros(first.percentile(50));
    Ok(json!({ "first": first.to_json(), "last": last.to_json(), "last_to_first": ratio }))
}

/// A large batch against the line through smaller ones.
fn batches(runtime: &Runtime, subject: &impl Loop) -> Result<Value> {
    let mut times = BATCHES.map(|calls| (calls, Samples::default()));
    let mut large = Samples::default();
    for _ in 0..BATCH_ROUNDS {
        for (calls, samples) in &mut times {
            samples.extend(one_run(runtime, subject, 1, *calls)?);
        }
        large.extend(one_run(runtime, subject, 1, LARGE_BATCH)?);
    }
    let points = times.each_ref().map(|(calls, samples)| (float(*calls), micros(samples.percentile(50))));
    let foretold = line(&points, float(LARGE_BATCH));
    let mut figures = json!({
        "1000_us": micros(large.percentile(50)),
        "foretold_us": foretold,
        "to_linear": micros(large.percentile(50)) / foretold,
    });
    for (calls, median) in points {
        figures[format!("{calls}_us")] = json!(median);
    }
    Ok(figures)
}

/// The value at `at` of the line that fits the points best.
fn line(points: &[(f64, f64)], at: f64) -> f64 {
    let count = float(points.len());
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let rise: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let run: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    mean_y + rise / run * (at - mean_x)
}

/// A small count as a number with a fraction.
fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
