//! Models: a script that plays one, and model vendors over HTTP.
//!
//! A [`ModelName`] says which model is meant. [`ScriptFile`] and [`OpenAiChat`] implement
//! [`Model`](hotcell_core::model::Model); nothing else of this crate matters to the loop.
//! What comes in are texts, keys and time limits; this crate reads no file, no environment variable and
//! no clock, and the types of its HTTP client and of the wire formats stay inside.
//!
//! Start reading at [`model_name`], then [`script`], then [`openai`].

pub mod model_name;
pub mod openai;
pub mod script;

pub use model_name::{ModelName, ModelNameError, Provider};
pub use openai::{OpenAiChat, OpenAiSettings, SettingsError};
pub use script::{ScriptError, ScriptFile};
