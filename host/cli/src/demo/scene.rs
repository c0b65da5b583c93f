//! What the demo needs: a folder of its own, the components, and who may do what.

use hotcell::policy::file::PolicyFile;
use hotcell::{Component, LimitOverrides, Policy};
use tempfile::TempDir;

use super::heartbeat::Heartbeat;
use super::ledger::Ledger;
use crate::arguments::Demo;
use crate::embedded;
use crate::ending::Complaint;
use crate::world::World;

/// The orders of the demo, unless another file is named.
const ORDERS: &str = include_str!("../../../../example-tools/csv-query/data/orders.csv");

/// Who may do what.
const POLICY: &str = include_str!("policy.toml");

/// Bytes of a CSV file; a note can hold no more.
const MAX_CSV_BYTES: u64 = 64 << 10;

/// Tools of a component of somebody else that are called.
const MAX_ATTACK_TOOLS: usize = 100;

/// The name of the note that holds the orders; the tool adds the ending.
const ORDERS_NOTE: &str = "orders.csv.md";

/// The entries of the policy, and which component each is made of.
const PARTS: [(&str, &str); 6] = [
    ("notes", "notes"),
    ("csv-query", "csv-query"),
    ("misbehave", "misbehave"),
    ("metered", "misbehave"),
    ("readonly", "notes"),
    ("vault", "notes"),
];

/// Everything that is set up.
pub(super) struct Scene {
    folder: TempDir,
    pub(super) components: Vec<Component>,
    /// The names of the tools of a component of somebody else.
    pub(super) attack_tools: Vec<String>,
    /// Why that component was refused before it could run.
    pub(super) refused: Option<String>,
    pub(super) heartbeat: Heartbeat,
    pub(super) ledger: Ledger,
}

impl Scene {
    /// Makes the folder, puts the orders into it and loads the components.
    pub(super) async fn set(command: &Demo) -> Result<Self, Complaint> {
        let csv = read_csv(command)?;
        let ledger = Ledger::read(&csv).map_err(|reason| {
            Complaint::usage(format!("the CSV file does not fit the question: {reason}"))
                .help("start from example-tools/csv-query/data/orders.csv and change its numbers")
        })?;
        let unwritable =
            |error| Complaint::failed("demo", "the folder of the demo cannot be made").because(error);
        let folder = tempfile::Builder::new().prefix("hotcell-demo-").tempdir().map_err(unwritable)?;
        let notes = folder.path().join("notes");
        std::fs::create_dir(&notes).map_err(unwritable)?;
        std::fs::write(notes.join(ORDERS_NOTE), csv).map_err(unwritable)?;
        let policy =
            PolicyFile::parse(POLICY, "the demo's own policy").map_err(hotcell::PolicyError::from)?;
        let policy = policy.resolved_at(folder.path());

        let world = World::new(&policy, LimitOverrides::default(), None)?;
        let mut components = Vec::new();
        for (entry, name) in PARTS {
            components.push(load(&world, &policy, entry, embedded_bytes(name)?).await?);
        }
        let text_stats = load(&world, &policy, "text-stats", embedded_bytes("text-stats")?).await?;
        let mut scene = Self {
            folder,
            components,
            attack_tools: Vec::new(),
            refused: None,
            heartbeat: Heartbeat::new(&text_stats)?,
            ledger,
        };
        if let Some(file) = &command.attack {
            scene.add_attack(&world, &policy, file).await?;
        }
        Ok(scene)
    }

    /// The text of a note, when there is one.
    pub(super) fn note(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join("notes").join(format!("{name}.md"))).ok()
    }

    /// A file that cannot be read is wrong usage; one that is refused later was an attack that failed early.
    async fn add_attack(
        &mut self,
        world: &World,
        policy: &Policy,
        file: &std::path::Path,
    ) -> Result<(), Complaint> {
        let bytes = hotcell::read_component(file)?;
        match load(world, policy, "attack", bytes).await {
            Ok(component) => {
                let offers = component.offers()?;
                let names = offers.iter().map(|offer| offer.tool.definition().name.to_string());
                self.attack_tools = names.take(MAX_ATTACK_TOOLS).collect();
                self.components.push(component);
            }
            Err(complaint) => self.refused = Some(format!("{:#}", anyhow::Error::from(complaint))),
        }
        Ok(())
    }
}

async fn load(
    world: &World,
    policy: &Policy,
    entry: &str,
    bytes: impl Into<std::sync::Arc<[u8]>>,
) -> Result<Component, Complaint> {
    let component = world.sandbox.load_bytes(entry, bytes).await?.under(policy)?;
    Ok(component)
}

fn embedded_bytes(name: &str) -> Result<&'static [u8], Complaint> {
    embedded::find(name).map(|(_, bytes)| bytes).ok_or_else(|| {
        Complaint::usage("this hotcell was built without the example components, which the demo needs")
            .help("in a checkout, run `cargo xtask demo`, which builds them in")
    })
}

fn read_csv(command: &Demo) -> Result<String, Complaint> {
    use std::io::Read as _;
    let Some(path) = &command.csv else { return Ok(ORDERS.to_owned()) };
    let shown = hotcell::text::escape_control(&path.to_string_lossy());
    let mut text = String::new();
    hotcell::open_regular_file(path)
        .and_then(|file| file.take(MAX_CSV_BYTES + 1).read_to_string(&mut text))
        .map_err(|error| Complaint::usage(format!("CSV file `{shown}` cannot be read")).because(error))?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > MAX_CSV_BYTES) {
        return Err(Complaint::usage(format!(
            "CSV file `{shown}` has more than 64 KiB, the most a note can hold"
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_of_the_demo_is_good_and_has_an_entry_for_each_part() {
        let policy = PolicyFile::parse(POLICY, "policy.toml").unwrap();
        for (entry, _) in PARTS {
            assert!(policy.components.contains_key(entry), "{entry}");
        }
        assert!(policy.components.contains_key("attack"));
    }

    #[test]
    fn the_orders_fit_the_question() {
        assert!(Ledger::read(ORDERS).unwrap().orders > 10);
    }
}
