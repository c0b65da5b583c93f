//! The policy that is in force for a command.

use std::path::PathBuf;

use hotcell::policy::file::Places;
use hotcell::{Policy, load_policy_with_places, policy_from_environment};

use crate::arguments::PolicyOption;
use crate::ending::Complaint;

/// A policy and the file it was read from.
#[derive(Debug, Clone, Default)]
pub(crate) struct InForce {
    pub(crate) policy: Policy,
    /// Where its keys stand.
    pub(crate) places: Places,
    pub(crate) file: Option<PathBuf>,
}

impl PolicyOption {
    /// Reads the policy of `--policy`, else of HOTCELL_POLICY; without both the empty policy is in force.
    pub(crate) fn load(&self) -> Result<InForce, Complaint> {
        let (file, typed) = match &self.policy_file {
            Some(file) => (file.clone(), true),
            None => match policy_from_environment() {
                Some(file) => (file, false),
                None => return Ok(InForce::default()),
            },
        };
        let (policy, places) = load_policy_with_places(&file).map_err(|error| {
            let complaint = Complaint::from(error);
            if typed { complaint } else { complaint.help("HOTCELL_POLICY names this file") }
        })?;
        Ok(InForce { policy, places, file: Some(file) })
    }
}
