//! The platform, and the engine that is built in.

use hotcell::engine::UNTRUSTED;
use hotcell::{ADVISORIES_UNTIL, Advisory, ENGINE_VERSION};

use super::check::{Check, State};

/// Whether the protection is tested on a platform like this.
pub(super) fn platform() -> Check {
    let name = "platform";
    let platform = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    if cfg!(target_os = "linux") && cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        Check::new(name, State::Good, platform)
    } else {
        Check::new(
            name,
            State::Missing,
            format!("{platform}: it builds here, and nobody has tested its protection"),
        )
        .help("use Linux on x86-64 or aarch64 for components nobody trusts")
    }
}

/// Whether a fault that is known affects the engine.
pub(super) fn advisories(affecting: &[Advisory], known: usize) -> Check {
    let name = "engine version";
    let scope = format!("of {known} advisories known until {ADVISORIES_UNTIL}");
    if affecting.is_empty() {
        let detail = format!("wasmtime {ENGINE_VERSION}, affected by none {scope}");
        return Check::new(name, State::Good, detail);
    }
    let listed: Vec<_> =
        affecting.iter().map(|advisory| format!("{} ({})", advisory.id, advisory.title)).collect();
    let concerns = affecting.iter().any(|advisory| advisory.concerns);
    Check::new(
        name,
        if concerns { State::Failed } else { State::Missing },
        format!("wasmtime {ENGINE_VERSION}, affected by {} {scope}: {}", affecting.len(), listed.join(", ")),
    )
    .help("update hotcell")
}

/// What of WebAssembly is refused.
pub(super) fn features() -> Check {
    let off: Vec<_> =
        UNTRUSTED.features_off.iter().map(|name| name.to_lowercase().replace('_', "-")).collect();
    Check::new("engine features", State::Good, format!("switched off: {}", off.join(", ")))
}

/// Protection that a later version brings. Shown, so that nobody relies on it.
pub(super) fn stack_zeroing() -> Check {
    Check::new(
        "stack zeroing",
        State::Missing,
        "off: the stack of one call is not wiped before the next; guests cannot read it, and a host with many tenants wants it on",
    )
}
