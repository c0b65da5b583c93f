//! The walls around a compile process: what they are, which of them stand, and how they are raised.
//!
//! They are raised by the process itself, before it makes a thread or reads a byte of the component, and cannot be
//! taken down again. Each stands alone: one that the system does not offer is reported, and the others are raised.

use serde::{Deserialize, Serialize};

mod limits;
mod raise;
#[cfg(target_os = "linux")]
mod steps;
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(target_os = "linux")]
mod unsafe_calls;

pub(crate) use raise::Rising;

/// One wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Wall {
    /// Every descriptor is closed but those for the component, the answer and the last words.
    Descriptors,
    /// It is killed when the process that started it ends.
    ParentDeath,
    /// Bounds on address space, processor time, file size, open files, stack and core dumps.
    Limits,
    /// No program it could start would have more rights than it has.
    NoNewPrivileges,
    /// No other process of the same user reads its memory or traces it.
    NotDumpable,
    /// It has no capabilities, also when it runs as root.
    NoCapabilities,
    /// Landlock: no file can be opened, made or removed; where the kernel knows how, no TCP, no abstract socket and no
    /// signal to others either.
    Landlock,
    /// A seccomp filter: system calls that compiling does not need kill the process.
    SystemCalls,
}

impl Wall {
    /// All of them, in the order in which they are raised.
    pub const ALL: [Self; 8] = [
        Self::Descriptors,
        Self::ParentDeath,
        Self::Limits,
        Self::NoNewPrivileges,
        Self::NotDumpable,
        Self::NoCapabilities,
        Self::Landlock,
        Self::SystemCalls,
    ];

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Descriptors => "closed descriptors",
            Self::ParentDeath => "end with the parent",
            Self::Limits => "resource limits",
            Self::NoNewPrivileges => "no new privileges",
            Self::NotDumpable => "not traceable",
            Self::NoCapabilities => "no capabilities",
            Self::Landlock => "Landlock",
            Self::SystemCalls => "seccomp",
        }
    }
}

/// A wall that does not stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissingWall {
    /// Which.
    pub wall: Wall,
    /// Why, as the system said it.
    pub reason: String,
}

/// Which walls stand around a compile process, as it reported itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walls {
    /// Those that stand.
    pub standing: Vec<Wall>,
    /// Those that do not.
    pub missing: Vec<MissingWall>,
    /// The version of Landlock in force, when it stands: from 4 on TCP is refused, from 6 on abstract sockets and signals.
    pub landlock_abi: Option<u32>,
}

impl Walls {
    /// Whether this wall stands.
    #[must_use]
    pub fn stands(&self, wall: Wall) -> bool {
        self.standing.contains(&wall)
    }

    /// Whether all stand.
    #[must_use]
    pub fn complete(&self) -> bool {
        Wall::ALL.iter().all(|wall| self.stands(*wall))
    }

    /// The walls that do not stand, with the reasons, for messages; empty when all stand.
    #[must_use]
    pub fn describe_missing(&self) -> String {
        let absent = |wall: &&Wall| !self.stands(**wall);
        let reason = |wall: &Wall| self.missing.iter().find(|missing| missing.wall == *wall);
        let describe = |wall: &Wall| match reason(wall) {
            Some(missing) => format!("{} ({})", wall.name(), missing.reason),
            None => wall.name().to_owned(),
        };
        Wall::ALL.iter().filter(absent).map(describe).collect::<Vec<_>>().join(", ")
    }

    fn note(&mut self, wall: Wall, raised: Result<(), String>) {
        match raised {
            Ok(()) => self.standing.push(wall),
            Err(reason) => self.missing.push(MissingWall { wall, reason }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_that_are_not_named_as_standing_are_missing() {
        let mut walls = Walls::default();
        assert!(!walls.complete());
        for wall in Wall::ALL {
            let raised = if wall == Wall::Landlock { Err("not built in".into()) } else { Ok(()) };
            walls.note(wall, raised);
        }
        assert!(!walls.complete());
        assert_eq!(walls.describe_missing(), "Landlock (not built in)");
        walls.note(Wall::Landlock, Ok(()));
        assert!(walls.complete());
        assert_eq!(walls.describe_missing(), "");
    }
}
