//! The walls around the compile process.

use hotcell::{Isolation, Wall, Walls};

use super::check::{Check, State};

/// One check for each wall. A wall that is missing is a failure when the policy requires all of them.
pub(super) fn checks(walls: Option<&Walls>, isolation: Isolation) -> Vec<Check> {
    let Some(walls) = walls else {
        let detail = "not known, because no compile process answered";
        return vec![Check::new("compile walls", absent(isolation), detail)];
    };
    Wall::ALL.iter().map(|wall| check(walls, *wall, isolation)).collect()
}

fn check(walls: &Walls, wall: Wall, isolation: Isolation) -> Check {
    if walls.stands(wall) {
        let detail = match (wall, walls.landlock_abi) {
            (Wall::Landlock, Some(version)) => format!("stands around the compile worker, ABI {version}"),
            (_, _) => "stands around the compile worker".to_owned(),
        };
        return Check::new(wall.name(), State::Good, detail);
    }
    let reason = walls.missing.iter().find(|missing| missing.wall == wall);
    let reason = reason.map_or("it was not raised", |missing| missing.reason.as_str());
    let detail =
        format!("does not stand around the compile worker: {}", hotcell::text::escape_control(reason));
    Check::new(wall.name(), absent(isolation), detail).help(help(wall, isolation))
}

const fn absent(isolation: Isolation) -> State {
    match isolation {
        Isolation::Required => State::Failed,
        Isolation::BestEffort => State::Missing,
    }
}

fn help(wall: Wall, isolation: Isolation) -> String {
    let cure = match wall {
        Wall::Landlock => "use a kernel of 5.13 or later that has Landlock switched on",
        Wall::SystemCalls => "use a kernel, or a container, that allows seccomp filters",
        _ => "ask whoever runs this machine or container why the system refuses it",
    };
    match isolation {
        Isolation::Required => {
            format!(
                "{cure}; the policy requires every wall (`compile.isolation`), so nothing is compiled here"
            )
        }
        Isolation::BestEffort => {
            format!(
                "{cure}; components are compiled without it, unless a policy says `compile.isolation = \"required\"`"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_wall_is_a_failure_only_when_walls_are_required() {
        let walls: Walls = serde_json::from_value(serde_json::json!({
            "standing": ["descriptors", "landlock"], "missing": [{"wall": "system_calls", "reason": "no\u{1b}"}],
            "landlock_abi": 5,
        }))
        .unwrap();
        let state = |isolation, name: &str| {
            let checks = checks(Some(&walls), isolation);
            assert_eq!(checks.len(), Wall::ALL.len());
            let found = checks.into_iter().find(|check| check.name == name).unwrap();
            (found.state, found.detail)
        };
        assert_eq!(state(Isolation::BestEffort, "seccomp").0, State::Missing);
        let (failed, detail) = state(Isolation::Required, "seccomp");
        assert_eq!(failed, State::Failed);
        assert!(detail.contains("no\\u{1b}"), "{detail}");
        let (good, detail) = state(Isolation::Required, "Landlock");
        assert_eq!((good, detail.contains("ABI 5")), (State::Good, true));
        assert_eq!(checks(None, Isolation::Required)[0].state, State::Failed);
    }
}
