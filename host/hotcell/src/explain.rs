//! Why a tool would run, ask or not run, and which line of the policy decides what.
//!
//! Nothing is decided here: every value comes from [`Terms`], which calls go by as well. This adds where it was said.

use std::time::Duration;

use hotcell_core::grant::{Access, FileGrant, Grants};
use hotcell_core::ids::{IdError, ToolName};
use hotcell_core::limits::{CallLimits, LimitOverrides};
use hotcell_core::policy::file::{Place, Places, allow_line, key_path};
use hotcell_core::policy::{Permission, Verdict};
use hotcell_core::text::escape_control;
use hotcell_core::tool::Definition;
use hotcell_core::units::{format_bytes, format_duration};
use serde::Serialize;

use crate::component::{Origin, Said, Terms};

/// Why the tools of one component are treated as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What policy and errors call the component.
    pub component: String,
    /// Where its entry begins; none when only the defaults hold.
    pub entry: Option<Source>,
    /// What it may reach, and who gives it; nothing else is reachable.
    pub grants: Vec<GrantRuling>,
    /// Whether any of that is outside of a call, so that `auto` asks.
    pub reaches_outside: bool,
    /// Its tools.
    pub tools: Vec<ToolRuling>,
}

/// Who says something, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Who says it.
    pub origin: Origin,
    /// The key of the policy file, when it stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The place in the policy file, when it stands there.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// One thing a component may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrantRuling {
    /// In plain words, to follow "the component".
    pub text: String,
    /// Who gives it.
    pub by: Source,
    /// What the policy gives for the same place and does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<Source>,
}

/// One value, who decides it, and who would have decided it otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// What is decided on, such as `permission` or `timeout`.
    pub subject: &'static str,
    /// The value in force.
    pub value: String,
    /// Who decides it.
    pub by: Source,
    /// Values that are said and do not count, because the one in force is more specific.
    pub instead_of: Vec<Overruled>,
}

/// A value that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overruled {
    /// The value.
    pub value: String,
    /// Who says it.
    pub by: Source,
}

/// Why one tool is treated as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolRuling {
    /// Its own name.
    pub tool: String,
    /// The name models call it by; none when they do not see it.
    pub offered_as: Option<String>,
    /// Where the name or the selection is said; none when the tool is offered under its own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<Source>,
    /// What happens when a model calls it; none when models do not see it.
    pub verdict: Option<Verdict>,
    /// Why, as a sentence without a full stop.
    pub reason: String,
    /// The permission behind the verdict.
    pub permission: Decided,
    /// What caps a call.
    pub limits: Vec<Decided>,
    /// How long its author thinks a call takes, in milliseconds, where that is less than the timeout and lowers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author_timeout_ms: Option<u32>,
    /// The setting that would let it run without asking; none when it does already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_allow: Option<String>,
}

/// Explains the terms of a component.
///
/// `places` are those of the policy the terms are under, `typed` the grants given on top of it, `definitions` the tools
/// of the component; without them the tools are those that the policy names.
#[must_use]
pub fn explain(
    terms: &Terms,
    places: &Places,
    typed: &Grants,
    definitions: Option<&[Definition]>,
) -> Explanation {
    let explainer = Explainer { terms, places };
    let granted = terms.grants().overlaid(typed.clone());
    let names: Vec<String> = match definitions {
        Some(definitions) => definitions.iter().map(|known| known.name.to_string()).collect(),
        None => terms.named_tools().into_iter().map(str::to_owned).collect(),
    };
    Explanation {
        component: terms.name().to_owned(),
        entry: terms.has_entry().then(|| explainer.source(Origin::Component, &["components", terms.name()])),
        grants: explainer.grants(typed),
        reaches_outside: granted.reaches_outside(),
        tools: names
            .iter()
            .map(|name| {
                let known = definitions.into_iter().flatten().find(|known| known.name.as_str() == name);
                explainer.tool(name, &granted, known)
            })
            .collect(),
    }
}

/// Explains one tool that nobody knows to exist, because the component's definitions are not embedded.
///
/// # Errors
/// No tool can have this name.
pub fn explain_tool(
    terms: &Terms,
    places: &Places,
    typed: &Grants,
    own_name: &str,
) -> Result<ToolRuling, IdError> {
    ToolName::parse(own_name)?;
    let granted = terms.grants().overlaid(typed.clone());
    Ok(Explainer { terms, places }.tool(own_name, &granted, None))
}

struct Explainer<'a> {
    terms: &'a Terms,
    places: &'a Places,
}

impl Explainer<'_> {
    fn source(&self, origin: Origin, key: &[&str]) -> Source {
        self.source_at(origin, key_path(key))
    }

    fn source_at(&self, origin: Origin, key: String) -> Source {
        let place = self.places.get(&key);
        Source { origin, key: Some(key), place }
    }

    fn grants(&self, typed: &Grants) -> Vec<GrantRuling> {
        let of_policy = self.terms.grants();
        let component = self.terms.name();
        let mut found = Vec::new();
        for (index, files) in of_policy.files.iter().enumerate() {
            if !typed.files.iter().any(|new| new.guest == files.guest) {
                let key = format!("{}[{index}]", key_path(&["components", component, "grants", "files"]));
                let by = self.source_at(Origin::Component, key);
                found.push(GrantRuling { text: files_text(files), by, instead_of: None });
            }
        }
        for name in of_policy.env.keys().filter(|name| !typed.env.contains_key(*name)) {
            let by = self.source(Origin::Component, &["components", component, "grants", "env", name]);
            found.push(GrantRuling { text: env_text(name), by, instead_of: None });
        }
        for files in &typed.files {
            let index = of_policy.files.iter().position(|known| known.guest == files.guest);
            let instead_of = index.map(|index| {
                let key = format!("{}[{index}]", key_path(&["components", component, "grants", "files"]));
                self.source_at(Origin::Component, key)
            });
            found.push(GrantRuling { text: files_text(files), by: TYPED, instead_of });
        }
        for name in typed.env.keys() {
            let instead_of = of_policy
                .env
                .contains_key(name)
                .then(|| self.source(Origin::Component, &["components", component, "grants", "env", name]));
            found.push(GrantRuling { text: env_text(name), by: TYPED, instead_of });
        }
        found
    }

    fn tool(&self, name: &str, granted: &Grants, known: Option<&Definition>) -> ToolRuling {
        let permission = self.terms.permission(name);
        let reaches = granted.reaches_outside();
        let exposed = self.terms.exposes(name);
        let verdict = exposed.then(|| permission.verdict(reaches));
        let reason = match (exposed, permission) {
            (false, _) => "models do not see it, because `expose` leaves it out",
            (true, Permission::Deny) => "its permission is `deny`",
            (true, Permission::Ask) => "its permission is `ask`",
            (true, Permission::Allow) => "its permission is `allow`",
            (true, Permission::Auto) if reaches => {
                "its permission is `auto`, and the component is given files"
            }
            (true, Permission::Auto) => {
                "its permission is `auto`, and the component reaches nothing outside of a call"
            }
        };
        ToolRuling {
            tool: name.to_owned(),
            offered_as: self.terms.offered_name(name).ok().filter(|_| exposed).map(|name| name.to_string()),
            named_by: self.named_by(name, exposed),
            verdict,
            reason: reason.to_owned(),
            permission: self.permission(name),
            limits: self.limits(name),
            author_timeout_ms: known.and_then(|known| known.timeout_ms).filter(|wish| {
                *wish > 0 && Duration::from_millis(u64::from(*wish)) < self.terms.limits(name).timeout
            }),
            to_allow: match verdict {
                Some(Verdict::Ask | Verdict::Deny) => Some(allow_line(self.terms.name(), name)),
                Some(Verdict::Allow) | None => None,
            },
        }
    }

    /// Which key decides by which name the tool is seen, or that it is not.
    fn named_by(&self, name: &str, exposed: bool) -> Option<Source> {
        let key = |rest: &[&str]| {
            let source = self.source(Origin::Component, &[&["components", self.terms.name()], rest].concat());
            source.place.is_some().then_some(source)
        };
        if exposed { key(&["rename", name]).or_else(|| key(&["prefix"])) } else { key(&["expose"]) }
    }

    fn permission(&self, name: &str) -> Decided {
        let words = self.terms.said(name).map(|said| (said.origin, said.permission.map(permission_word)));
        self.decide("permission", name, &words, permission_word(Permission::default()))
    }

    fn limits(&self, name: &str) -> Vec<Decided> {
        let said = self.terms.said(name);
        let built_in = CallLimits::default();
        let base = LimitOverrides {
            timeout: Some(built_in.timeout),
            memory_bytes: Some(built_in.memory_bytes),
            fuel: Some(built_in.fuel),
            table_elements: Some(built_in.table_elements),
            result_bytes: Some(built_in.result_bytes),
        };
        LIMITS
            .iter()
            .map(|(subject, read)| {
                let words = said.map(|Said { origin, limits, .. }| (origin, read(&limits)));
                self.decide(subject, name, &words, read(&base).unwrap_or_default())
            })
            .collect()
    }

    /// The first word counts, as it does in [`Terms`].
    fn decide(
        &self,
        subject: &'static str,
        tool: &str,
        words: &[(Origin, Option<String>)],
        built_in: String,
    ) -> Decided {
        let mut said = words.iter().filter_map(|(origin, word)| {
            word.clone().map(|value| Overruled { value, by: self.about(*origin, subject, tool) })
        });
        let Overruled { value, by } = said.next().unwrap_or(Overruled { value: built_in, by: BUILT_IN });
        Decided { subject, value, by, instead_of: said.collect() }
    }

    /// Where a word on this subject stands.
    fn about(&self, origin: Origin, subject: &str, tool: &str) -> Source {
        let component = self.terms.name();
        let permission = subject == "permission";
        match origin {
            Origin::Typed => TYPED,
            Origin::BuiltIn => BUILT_IN,
            Origin::Tool => self.source(origin, &["components", component, "tools", tool, subject]),
            Origin::Component if permission => self.source(origin, &["components", component, subject]),
            Origin::Component => self.source(origin, &["components", component, "limits", subject]),
            Origin::Defaults if permission => self.source(origin, &["defaults", subject]),
            Origin::Defaults => self.source(origin, &["defaults", "limits", subject]),
        }
    }
}

const TYPED: Source = Source { origin: Origin::Typed, key: None, place: None };
const BUILT_IN: Source = Source { origin: Origin::BuiltIn, key: None, place: None };

type ReadLimit = fn(&LimitOverrides) -> Option<String>;

/// The limits by the names they have in a policy.
const LIMITS: [(&str, ReadLimit); 5] = [
    ("timeout", |limits| limits.timeout.map(format_duration)),
    ("memory", |limits| limits.memory_bytes.map(format_bytes)),
    ("fuel", |limits| limits.fuel.map(|fuel| fuel.to_string())),
    ("table_elements", |limits| limits.table_elements.map(|elements| elements.to_string())),
    ("result", |limits| limits.result_bytes.map(format_bytes)),
];

fn permission_word(permission: Permission) -> String {
    match permission {
        Permission::Auto => "auto",
        Permission::Allow => "allow",
        Permission::Ask => "ask",
        Permission::Deny => "deny",
    }
    .to_owned()
}

fn files_text(files: &FileGrant) -> String {
    let verb = match files.access {
        Access::ReadOnly => "reads",
        Access::ReadWrite => "reads and writes",
    };
    format!("{verb} {} as {}", escape_control(&files.host.to_string_lossy()), escape_control(&files.guest))
}

fn env_text(name: &str) -> String {
    format!("sees the environment variable {}", escape_control(name))
}

#[cfg(test)]
mod tests;
