//! Raises the walls, in an order in which none stands in the way of the next.

use super::{Wall, Walls};
use crate::protocol::Bounds;

/// Walls of which all stand but the last, which the start of the engine would not pass.
#[derive(Debug)]
pub(crate) struct Rising(Walls);

#[cfg(target_os = "linux")]
impl Rising {
    /// Raises all walls but the last around this process; must be called before there is a second thread.
    pub(crate) fn begin(bounds: &Bounds) -> Self {
        use super::steps;
        steps::keep_out_of_the_way();
        let mut walls = Walls::default();
        walls.note(Wall::Descriptors, steps::close_descriptors());
        walls.note(Wall::ParentDeath, steps::end_with_parent());
        walls.note(Wall::Limits, steps::set_limits(bounds));
        walls.note(Wall::NoNewPrivileges, steps::refuse_new_privileges());
        walls.note(Wall::NotDumpable, steps::refuse_tracing());
        walls.note(Wall::NoCapabilities, steps::drop_capabilities());
        let landlock = steps::landlock();
        walls.landlock_abi = landlock.as_ref().ok().copied();
        walls.note(Wall::Landlock, landlock.map(|_abi| ()));
        Self(walls)
    }

    /// Raises the last wall: from here on the process computes, and reads and writes what is open.
    pub(crate) fn finish(self) -> Walls {
        let Self(mut walls) = self;
        walls.note(Wall::SystemCalls, super::system_calls::allow_only_compiling());
        walls
    }
}

#[cfg(not(target_os = "linux"))]
impl Rising {
    /// Sets the limits; the other walls are made of what only Linux has.
    pub(crate) fn begin(bounds: &Bounds) -> Self {
        let mut walls = Walls::default();
        for wall in Wall::ALL {
            let raised = match wall {
                Wall::Limits => super::limits::set(bounds),
                _ => Err(format!("there is none on {}", std::env::consts::OS)),
            };
            walls.note(wall, raised);
        }
        Self(walls)
    }

    /// There is no other wall to raise.
    pub(crate) fn finish(self) -> Walls {
        self.0
    }
}
