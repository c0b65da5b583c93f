use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use serde_json::{Value, json};

use super::*;
use crate::cost::{CostLimit, Prices};
use crate::loop_guard::{LoopGuard, OnTrip};

/// Values no field takes as a count, a size or a time.
const NO_NUMBERS: [&str; 5] = ["true", "-1", "1.5", "\"3\"", "1e999"];

fn refused<T: serde::de::DeserializeOwned>(field: &str, value: &str) -> String {
    let text = format!(r#"{{"{field}": {value}}}"#);
    serde_json::from_str::<T>(&text).err().unwrap_or_else(|| panic!("{text} was accepted")).to_string()
}

fn paths(checked: Result<(), ConfigErrors>) -> Vec<String> {
    let errors = checked.unwrap_err();
    errors.violations().iter().map(|violation| violation.path.clone()).collect()
}

/// P-67, H-35.
///
/// One line for each field of the limits of a run: what is not its kind, and too little or too much.
#[test]
fn each_limit_of_a_run_refuses_what_makes_no_sense() {
    let too_far = |field: &str| match field {
        "max_turns" | "max_tool_calls" => vec!["0", "4294967296"],
        "max_tool_calls_per_turn" => vec!["0", "65537"],
        "max_time_ms" | "host_tool_timeout_ms" => vec!["0", "31622400001"],
        "max_result_chars" | "max_argument_bytes" => vec!["0", "67108865"],
        "oversized" => vec![r#""keep""#, r#"{"spill": {"max_bytes": 0}}"#, r#"{"spill": {"max_byte": 1}}"#],
        "max_truncation_recoveries" | "empty_reply_nudges" | "output_repairs" => vec!["101"],
        "on_turn_limit" => vec![r#""fail_softly""#, "0"],
        "cost" => vec!["0", r#"{"max_dollars": 1}"#],
        "loop_guard" => vec!["0", r#"{"threshold": 1}"#],
        _ => vec!["0", "null"],
    };
    let written = serde_json::to_value(Limits::default()).unwrap();
    let fields: Vec<_> = written.as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields.len(), 16, "{fields:?}");
    for field in &fields {
        let flag = matches!(field.as_str(), "repair_names" | "dedupe_calls");
        for value in NO_NUMBERS.into_iter().filter(|value| !(flag && *value == "true")).chain(too_far(field))
        {
            refused::<Limits>(field, value);
        }
    }
    assert!(refused::<Limits>("max_tuns", "3").contains("max_tuns"));
}

/// P-67.
///
/// One line for each field of the limits of a call.
#[test]
fn each_limit_of_a_call_refuses_what_makes_no_sense() {
    let too_far = |field: &str| match field {
        "timeout_ms" => vec!["0", "31622400001"],
        "memory_bytes" => vec!["0", "65535", "4294967297"],
        "hostcall_bytes" => vec!["0", "2147483649"],
        "result_bytes" => vec!["0", "1073741825"],
        "output_bytes" | "random_bytes" => vec!["1073741825"],
        "log_records" | "log_record_bytes" => vec!["4294967296"],
        "fuel" => vec!["0", "18446744073709551616"],
        _ => vec!["0", "4294967296"],
    };
    let written = serde_json::to_value(CallLimits::default()).unwrap();
    let fields: Vec<_> = written.as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields.len(), 15, "{fields:?}");
    for field in &fields {
        for value in NO_NUMBERS.into_iter().chain(too_far(field)) {
            refused::<CallLimits>(field, value);
        }
    }
    assert!(refused::<CallLimits>("fule", "3").contains("fule"));
}

/// H-35.
///
/// Limits that were put together in code are held to the same, and everything that is wrong is told.
#[test]
fn everything_that_is_wrong_with_limits_is_told_together() {
    let too_many = NonZeroU32::new(MAX_CALLS_PER_TURN + 1).unwrap();
    let too_long = NonZeroUsize::new(MAX_TEXT + 1).unwrap();
    let limits = Limits {
        max_tool_calls_per_turn: too_many,
        max_time: Some(Duration::ZERO),
        max_result_chars: too_long,
        oversized: Oversized::Spill { max_bytes: NonZeroU64::new(MAX_KEPT_BYTES + 1).unwrap() },
        max_truncation_recoveries: 101,
        empty_reply_nudges: 102,
        output_repairs: 103,
        max_argument_bytes: too_long,
        host_tool_timeout: MAX_TIME + Duration::from_nanos(1),
        ..Limits::default()
    };
    let expected = [
        "limits.max_tool_calls_per_turn",
        "limits.max_time",
        "limits.max_result_chars",
        "limits.oversized.max_bytes",
        "limits.max_truncation_recoveries",
        "limits.empty_reply_nudges",
        "limits.output_repairs",
        "limits.max_argument_bytes",
        "limits.host_tool_timeout",
    ];
    assert_eq!(paths(limits.check()), expected);
    let call = CallLimits {
        timeout: Duration::ZERO,
        fuel: 0,
        memory_bytes: 1,
        memories: 0,
        tables: 0,
        table_elements: 0,
        instances: 0,
        component_handles: 0,
        wasi_handles: 0,
        hostcall_bytes: 0,
        result_bytes: 0,
        output_bytes: u64::MAX,
        random_bytes: u64::MAX,
        ..CallLimits::default()
    };
    assert_eq!(paths(call.check()).len(), 13);
}

/// H-16, H-35.
///
/// What stands inside of limits is checked with them, each with its whole path.
#[test]
fn prices_and_loop_guards_inside_of_limits_are_told_with_their_whole_paths() {
    let text = r#"{
        "max_time_ms": 0,
        "cost": {"max_dollars": 0, "prices": {"input_per_million": -1, "output_per_million": -2,
            "cache_read_multiplier": -5, "cache_write_multiplier": -0.5}},
        "loop_guard": {"max_period": 17, "threshold": 1, "history": 1025}
    }"#;
    let error = serde_json::from_str::<Limits>(text).unwrap_err().to_string();
    let fields = [
        "limits.max_time: ",
        "limits.cost.max_dollars: ",
        "limits.cost.prices.input_per_million: ",
        "limits.cost.prices.output_per_million: ",
        "limits.cost.prices.cache_read_multiplier: ",
        "limits.cost.prices.cache_write_multiplier: ",
        "limits.loop_guard.max_period: ",
        "limits.loop_guard.threshold: ",
        "limits.loop_guard.history: ",
    ];
    for field in fields {
        assert!(error.contains(field), "{field} is not in: {error}");
    }
}

/// H-16.
///
/// One line for each number of prices and cost limits.
#[test]
fn numbers_of_money_are_finite_and_not_negative() {
    let prices = |field: &str, value: &str| {
        let mut written: Value = json!({"input_per_million": 3, "output_per_million": 15});
        written[field] = serde_json::from_str(value).unwrap();
        serde_json::from_value::<Prices>(written)
    };
    let fields =
        ["input_per_million", "output_per_million", "cache_read_multiplier", "cache_write_multiplier"];
    for field in fields {
        assert!(prices(field, "0").is_ok() && prices(field, "1.5").is_ok(), "{field}");
        for wrong in ["-1", "true", "\"x\"", "null"] {
            assert!(prices(field, wrong).is_err(), "{field} took {wrong}");
        }
    }
    for wrong in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(Prices::new(wrong, 1.0).is_err() && Prices::new(1.0, wrong).is_err());
        let prices = Prices::new(1.0, 1.0).unwrap();
        assert!(prices.cache_multipliers(wrong, 1.0).is_err());
        assert!(prices.cache_multipliers(1.0, wrong).is_err());
        assert!(CostLimit::new(wrong, prices).is_err());
    }
    let unknown = json!({"input_per_million": 3, "output_per_million": 15, "currency": "EUR"});
    assert!(serde_json::from_value::<Prices>(unknown).is_err());
}

#[test]
fn each_number_of_a_loop_guard_refuses_what_makes_no_sense() {
    for (field, wrong) in [("max_period", 0), ("threshold", 1), ("history", 11), ("history", 1_025)] {
        let written = json!({ field: wrong });
        let error = serde_json::from_value::<LoopGuard>(written).unwrap_err().to_string();
        assert!(error.contains(&format!("loop_guard.{field}: found {wrong}")), "{error}");
    }
    for field in ["max_period", "threshold", "history", "on_trip"] {
        for wrong in NO_NUMBERS {
            refused::<LoopGuard>(field, wrong);
        }
    }
    assert!(serde_json::from_str::<OnTrip>(r#"{"stop": {"after": -1}}"#).is_err());
}

#[test]
fn limits_round_trip_and_a_time_below_a_millisecond_stays_a_limit() {
    let limits = Limits {
        max_time: Some(Duration::from_micros(1)),
        cost: Some(CostLimit::new(2.5, Prices::new(3.0, 15.0).unwrap()).unwrap()),
        ..Limits::strict()
    };
    let text = serde_json::to_string(&limits).unwrap();
    let read: Limits = serde_json::from_str(&text).unwrap();
    assert_eq!(read, Limits { max_time: Some(Duration::from_millis(1)), ..limits });
    let call = CallLimits { timeout: Duration::from_nanos(1_000_001), ..CallLimits::default() };
    let text = serde_json::to_string(&call).unwrap();
    let read: CallLimits = serde_json::from_str(&text).unwrap();
    assert_eq!(read.timeout, Duration::from_millis(2));
    assert_eq!(serde_json::from_str::<Limits>("{}").unwrap(), Limits::default());
}

#[test]
fn the_more_specific_override_wins() {
    let tool = LimitOverrides { fuel: Some(1), ..LimitOverrides::default() };
    let component = LimitOverrides { fuel: Some(2), memory_bytes: Some(3), ..LimitOverrides::default() };
    let limits = tool.or(component).apply(CallLimits::default());
    assert_eq!((limits.fuel, limits.memory_bytes), (1, 3));
}
