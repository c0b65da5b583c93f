//! Whether compiling works here, tried on a component that is known to be good.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hotcell_compiler::CompileError;

use crate::error::ComponentError;
use crate::sandbox::Sandbox;

/// A component with one function that returns 42:
///
/// ```text
/// (component
///   (core module $m (func (export "answer") (result i32) i32.const 42))
///   (core instance $i (instantiate $m))
///   (func (export "answer") (result u32) (canon lift (core func $i "answer"))))
/// ```
#[rustfmt::skip]
const PROBE: &[u8] = &[
    0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00, 0x01, 0x32, 0x00, 0x61, 0x73, 0x6d, 0x01, 0x00,
    0x00, 0x00, 0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7f, 0x03, 0x02, 0x01, 0x00, 0x07, 0x0a, 0x01,
    0x06, 0x61, 0x6e, 0x73, 0x77, 0x65, 0x72, 0x00, 0x00, 0x0a, 0x06, 0x01, 0x04, 0x00, 0x41, 0x2a,
    0x0b, 0x00, 0x09, 0x04, 0x6e, 0x61, 0x6d, 0x65, 0x00, 0x02, 0x01, 0x6d, 0x02, 0x04, 0x01, 0x00,
    0x00, 0x00, 0x07, 0x05, 0x01, 0x40, 0x00, 0x00, 0x79, 0x06, 0x0c, 0x01, 0x00, 0x00, 0x01, 0x00,
    0x06, 0x61, 0x6e, 0x73, 0x77, 0x65, 0x72, 0x08, 0x06, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b,
    0x0c, 0x01, 0x00, 0x06, 0x61, 0x6e, 0x73, 0x77, 0x65, 0x72, 0x01, 0x00, 0x00,
];

impl Sandbox {
    /// Compiles a small component, past the cache, and says how long it took.
    ///
    /// # Errors
    /// What stopped the compiler; most often the program did not call [`worker_main`](crate::worker_main) first.
    pub async fn check_compiler(&self) -> Result<Duration, ComponentError> {
        const NAME: &str = "a component that is known to be good";
        let parts = Arc::clone(&self.parts);
        let began = Instant::now();
        let compiled = tokio::task::spawn_blocking(move || parts.compiler().compile(PROBE)).await;
        match compiled {
            Ok(Ok(_artifact)) => Ok(began.elapsed()),
            Ok(Err(CompileError::Component(source))) => {
                Err(ComponentError::Component { name: NAME.into(), source })
            }
            Ok(Err(source)) => Err(ComponentError::Compile { name: NAME.into(), source }),
            Err(error) => Err(ComponentError::Interrupted { name: NAME.into(), reason: error.to_string() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Compile, SandboxConfig};

    #[tokio::test]
    async fn the_known_component_compiles_and_a_program_that_is_no_compiler_is_reported() {
        let config = |compile| SandboxConfig { cache: Cache::Off, slots: 1, ..SandboxConfig::new(compile) };
        let here = Sandbox::new(config(Compile::in_process())).unwrap();
        here.check_compiler().await.unwrap();
        let wrong = Sandbox::new(config(Compile::worker_at("/bin/false", Vec::new()))).unwrap();
        let error = wrong.check_compiler().await.unwrap_err();
        assert_eq!(error.code(), "internal");
    }
}
