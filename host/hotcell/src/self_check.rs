//! Whether compiling works here and behind which walls, tried on a component that is known to be good.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hotcell_compiler::{CompileError, Walls};

use crate::error::ComponentError;
use crate::sandbox::Sandbox;

/// What compiling a component that is known to be good showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerCheck {
    /// How long it took.
    pub took: Duration,
    /// The walls around the compile process; none when this process compiles itself.
    pub walls: Option<Walls>,
}

impl Sandbox {
    /// Compiles a small component, past the cache, and says how long it took and which walls stood around it.
    ///
    /// # Errors
    /// What stopped the compiler; most often the program did not call [`worker_main`](crate::worker_main) first.
    /// When a wall is missing and all are required, [`Sandbox::compile_walls`] still says which stand.
    pub async fn check_compiler(&self) -> Result<CompilerCheck, ComponentError> {
        const NAME: &str = "a component that is known to be good";
        let parts = Arc::clone(&self.parts);
        let began = Instant::now();
        let compiled = tokio::task::spawn_blocking(move || parts.compiler().probe()).await;
        match compiled {
            Ok(Ok(walls)) => Ok(CompilerCheck { took: began.elapsed(), walls }),
            Ok(Err(CompileError::Component(source))) => {
                Err(ComponentError::Component { name: NAME.into(), source })
            }
            Ok(Err(source)) => Err(ComponentError::Compile { name: NAME.into(), source }),
            Err(error) => Err(ComponentError::Interrupted { name: NAME.into(), reason: error.to_string() }),
        }
    }

    /// The walls around the last compile process that answered; none when there was none yet.
    #[must_use]
    pub fn compile_walls(&self) -> Option<Walls> {
        self.parts.compiler().last_walls()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Isolation;
    use crate::{Cache, Compile, SandboxConfig};

    fn sandbox(compile: Compile, isolation: Isolation) -> Sandbox {
        let config = SandboxConfig { cache: Cache::Off, slots: 1, isolation, ..SandboxConfig::new(compile) };
        Sandbox::new(config).unwrap()
    }

    #[tokio::test]
    async fn the_known_component_compiles_and_a_program_that_is_no_compiler_is_reported() {
        let here = sandbox(Compile::in_process(), Isolation::BestEffort);
        assert_eq!(here.check_compiler().await.unwrap().walls, None);
        let wrong = sandbox(Compile::worker_at("/bin/false", Vec::new()), Isolation::BestEffort);
        let error = wrong.check_compiler().await.unwrap_err();
        assert_eq!(error.code(), "internal");
        assert_eq!(wrong.compile_walls(), None);
    }

    #[tokio::test]
    async fn nothing_is_compiled_in_this_process_when_walls_are_required() {
        let here = sandbox(Compile::in_process(), Isolation::Required);
        let error = here.check_compiler().await.unwrap_err();
        assert_eq!(error.code(), "isolation_missing");
    }
}
