//! The sandbox of a command: small, so that it starts quickly, and as large as the limits in force need.

use std::sync::Arc;

use hotcell::{
    CallLimits, Compile, Component, Grant, Grants, LimitOverrides, LoadObserver, LogRing, Policy, Sandbox,
    SandboxConfig,
};

use crate::console::note;
use crate::ending::Complaint;

/// Calls at once; a command makes few, and each slot costs mappings at every start.
const SLOTS: u32 = 16;

/// Log records that are kept for the person who watches.
const LOG_RECORDS: usize = 256;

/// What a command runs components in.
pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) log: Arc<LogRing>,
}

impl World {
    /// A sandbox whose pool fits the largest limit of the policy and the command line.
    pub(crate) fn new(
        policy: &Policy,
        typed: LimitOverrides,
        load_observer: Option<Arc<dyn LoadObserver>>,
    ) -> Result<Self, Complaint> {
        let largest = largest_limits(policy, typed);
        let log = Arc::new(LogRing::new(LOG_RECORDS));
        let sandbox = Sandbox::new(SandboxConfig {
            slots: SLOTS,
            max_memory_bytes: largest.memory_bytes,
            max_table_elements: largest.table_elements,
            isolation: policy.compile.isolation,
            log: Arc::clone(&log) as _,
            load_observer,
            ..SandboxConfig::new(Compile::worker())
        })?;
        if let Some(warning) = sandbox.warning() {
            note(format_args!("warning: {warning}"));
        }
        Ok(Self { sandbox, log })
    }
}

/// The largest memory and table limit that any call may have.
fn largest_limits(policy: &Policy, typed: LimitOverrides) -> CallLimits {
    let components = policy.components.values();
    let of_components = components
        .flat_map(|component| component.tools.values().map(|tool| tool.limits).chain([component.limits]));
    let base = CallLimits::default();
    of_components.chain([policy.defaults.limits, typed]).fold(base.clone(), |mut largest, limits| {
        let limits = limits.apply(base.clone());
        largest.memory_bytes = largest.memory_bytes.max(limits.memory_bytes);
        largest.table_elements = largest.table_elements.max(limits.table_elements);
        largest
    })
}

/// Shows what did not work as it should while a component was loaded.
pub(crate) fn note_warning(component: &Component) {
    for warning in component.warnings() {
        note(format_args!("warning: {warning}"));
    }
}

/// The component's grants with those of the command line on top. One that was typed replaces one of the
/// policy for the same place.
pub(crate) fn add_grants(base: &Grants, typed: &[Grant]) -> Result<Grants, Complaint> {
    let mut added = Grants::default();
    for grant in typed {
        added.add(grant.clone()).map_err(|error| Complaint::usage(error.to_string()))?;
    }
    Ok(base.clone().overlaid(added))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotcell::parse_grant;
    use hotcell::policy::file::PolicyFile;

    #[test]
    fn the_pool_fits_the_largest_limit_of_all() {
        let policy = PolicyFile::parse(
            "version = 1\n[defaults]\nlimits = { memory = \"1MiB\" }\n[components.a]\ntools.x = { memory = \"256MiB\" }\n",
            "p",
        )
        .unwrap();
        let typed = LimitOverrides { table_elements: Some(200_000), ..LimitOverrides::default() };
        let largest = largest_limits(&policy, typed);
        assert_eq!((largest.memory_bytes, largest.table_elements), (256 << 20, 200_000));
        assert_eq!(largest_limits(&Policy::default(), LimitOverrides::default()), CallLimits::default());
    }

    #[test]
    fn a_typed_grant_replaces_one_of_the_policy_for_the_same_place() {
        let grant = |text| parse_grant(text).unwrap();
        let mut base = Grants::default();
        base.add(grant("files=a:/data")).unwrap();
        base.add(grant("env=LANG=C")).unwrap();
        let all = add_grants(&base, &[grant("files=b:/data:rw"), grant("env=TZ=UTC")]).unwrap();
        assert_eq!(all.files.len(), 1);
        assert_eq!(all.files[0].host.to_str(), Some("b"));
        assert_eq!(all.env.len(), 2);
        assert!(add_grants(&base, &[grant("files=b:/x"), grant("files=c:/x")]).is_err());
    }
}
