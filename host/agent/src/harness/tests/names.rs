//! Names that are not quite those of a tool.

use std::sync::Arc;

use hotcell_core::approval::Decision;
use hotcell_core::limits::Limits;
use hotcell_core::message::Message;
use hotcell_core::outcome::Outcome;
use hotcell_core::policy::Permission;

use super::bound::{Bound, Decides};
use super::support::{Counter, add, harness, names, request, script};
use crate::harness::RunResult;
use crate::scripted_model::{call_reply, text_reply};
use crate::tool_set::Offer;

async fn calls(written: &str, limits: Limits, offer: Offer, approver: &Arc<Decides>) -> RunResult {
    let model = script([call_reply([("c1", written, r#"{"to": "a"}"#)]), text_reply("done")]);
    let asks = request("go").limits(limits).approver(Arc::clone(approver) as _);
    harness(model, [offer, add()]).run(asks).await.unwrap()
}

fn outcome(result: &RunResult) -> Outcome {
    result.calls[0].report.as_ref().unwrap().outcome
}

// L-02
/// P-27.
#[tokio::test]
async fn a_repaired_name_is_the_tools_own_wherever_it_is_shown_and_the_models_in_the_transcript() {
    let ran = Counter::default();
    let approver = Arc::new(Decides::new(Decision::Approve));
    let result = calls("functions.Write", Limits::default(), Bound::new(&ran).offer(), &approver).await;
    assert_eq!((outcome(&result), ran.get()), (Outcome::Ok, 1));
    assert_eq!(approver.last().unwrap().tool.as_str(), "write");
    assert_eq!(result.calls[0].tool, "write");
    let told: Vec<_> = names(&result).into_iter().filter(|name| name.starts_with("tool_")).collect();
    assert_eq!(told, ["tool_started run:0:1 write", "tool_finished run:0:1 write success"]);
    let written: Vec<_> = result
        .transcript
        .messages()
        .iter()
        .filter_map(|message| match message.as_ref() {
            Message::Assistant { calls, .. } => calls.first().map(|call| call.name.clone()),
            Message::Tool { name, .. } => Some(name.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(written, ["functions.Write", "functions.Write"]);
}

// L-02
/// P-27.
#[tokio::test]
async fn a_name_is_repaired_only_where_limits_say_so_and_gives_no_permission() {
    let ran = Counter::default();
    let yes = Arc::new(Decides::new(Decision::Approve));
    let offer = || Bound::new(&ran).offer();
    let strict = calls("Write", Limits::strict(), offer(), &yes).await;
    assert_eq!((outcome(&strict), ran.get(), yes.asked()), (Outcome::UnknownTool, 0, 0));
    assert_eq!(strict.calls[0].tool, "Write");
    let denied = calls("Write", Limits::default(), offer().with_permission(Permission::Deny), &yes).await;
    assert_eq!((outcome(&denied), ran.get(), yes.asked()), (Outcome::Denied, 0, 0));
    assert_eq!(denied.calls[0].tool, "write");
    let no = Arc::new(Decides::new(Decision::Deny("no".into())));
    let denied = calls("Write", Limits::default(), offer(), &no).await;
    assert_eq!((outcome(&denied), ran.get(), no.asked()), (Outcome::Denied, 0, 1));
    assert!(names(&denied).contains(&"tool_finished run:0:1 write denied".to_owned()));
}
