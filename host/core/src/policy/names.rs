//! The names under which models see the tools of a component.

use crate::ids::{IdError, ToolName};
use crate::policy::ComponentPolicy;

impl ComponentPolicy {
    /// Whether a tool with this name of its own is offered to models.
    #[must_use]
    pub fn exposes(&self, own_name: &str) -> bool {
        self.expose.as_ref().is_none_or(|names| names.iter().any(|name| name == own_name))
    }

    /// The name a model calls the tool by: the new name where one is given, else the prefix and its own.
    ///
    /// # Errors
    /// The prefix and the name together are no legal tool name.
    pub fn offered_name(&self, own_name: &str) -> Result<ToolName, IdError> {
        match self.rename.get(own_name) {
            Some(name) => Ok(name.clone()),
            None => ToolName::parse(format!("{}{own_name}", self.prefix.as_deref().unwrap_or_default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_wins_over_the_prefix() {
        let policy = ComponentPolicy {
            expose: Some(vec!["list".into(), "read".into()]),
            prefix: Some("notes_".into()),
            rename: [("list".into(), ToolName::parse("ls").unwrap())].into(),
            ..ComponentPolicy::default()
        };
        assert_eq!(policy.offered_name("list").unwrap().as_str(), "ls");
        assert_eq!(policy.offered_name("read").unwrap().as_str(), "notes_read");
        assert!(policy.exposes("read") && !policy.exposes("write"));
        assert!(policy.offered_name(&"x".repeat(60)).is_err());
        assert!(ComponentPolicy::default().exposes("anything"));
    }
}
