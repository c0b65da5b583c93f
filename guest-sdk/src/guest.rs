//! The component interface: what a guest imports and exports.

use std::time::Duration;

use crate::context::Context;
use crate::log::Level;
use crate::tool_set::ToolSet;

mod convert;

/// What the tool interface generates; each package stands alone, so that a component imports only what
/// its code reaches.
#[expect(missing_docs, reason = "generated; the WIT files hold the documentation")]
#[allow(
    unused_qualifications,
    unreachable_pub,
    missing_debug_implementations,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated"
)]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["wit/types", "wit/tool"],
        world: "hotcell:tool/tool",
        pub_export_macro: true,
        export_macro_name: "export_tools",
        default_bindings_module: "hotcell_tool::__private::bindings",
        generate_all,
    });
}

macro_rules! service {
    ($name:ident, $path:literal, $world:literal) => {
        #[allow(unused_qualifications, unreachable_pub, missing_debug_implementations, missing_docs, clippy::all, clippy::pedantic, clippy::restriction, reason = "generated")]
        mod $name {
            wit_bindgen::generate!({ path: $path, world: $world });
        }
    };
}
service!(log_bindings, "wit/log", "hotcell:log/imports");
service!(progress_bindings, "wit/progress", "hotcell:progress/imports");
service!(control_bindings, "wit/control", "hotcell:control/imports");

pub use bindings::export_tools as export;
use bindings::exports::hotcell::tool::tools as wit;

/// What [`component!`](crate::component) makes of its list.
pub trait Component {
    /// The tools.
    const TOOLS: ToolSet;
}

impl<C: Component> wit::Guest for C {
    fn definitions() -> Vec<wit::Definition> {
        C::TOOLS.definitions().into_iter().map(convert::definition).collect()
    }

    fn call(name: String, arguments: String, ctx: wit::Context) -> Result<wit::Output, wit::Failure> {
        let context: Context = convert::context(ctx);
        C::TOOLS.call(&name, &arguments, &context).map(convert::output).map_err(convert::failure)
    }
}

pub(crate) fn log(level: Level, message: &str, fields: &[(&str, &str)]) {
    use log_bindings::hotcell::log::log as host;
    let level = match level {
        Level::Trace => host::Level::Trace,
        Level::Debug => host::Level::Debug,
        Level::Info => host::Level::Info,
        Level::Warn => host::Level::Warn,
        Level::Error => host::Level::Error,
    };
    let fields: Vec<(String, String)> =
        fields.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    host::write(level, message, &fields);
}

pub(crate) fn progress(done: u64, total: Option<u64>, note: Option<&str>) {
    progress_bindings::hotcell::progress::progress::report(done, total, note);
}

pub(crate) fn remaining() -> Duration {
    Duration::from_millis(control_bindings::hotcell::control::control::remaining_ms())
}

pub(crate) fn cancelled() -> bool {
    control_bindings::hotcell::control::control::cancelled()
}
