//! What the next model call may cost.

use hotcell_core::content::Block;
use hotcell_core::cost::Dollars;
use hotcell_core::message::Message;
use hotcell_core::model::TokenUsage;

use super::RunMachine;
use crate::status::{ErrorKind, RunErrorInfo};

/// Bytes of text that are taken for one token.
const BYTES_PER_TOKEN: u64 = 4;

/// Tokens an image, a document or a recording is taken for.
const MEDIA_TOKENS: u64 = 1_500;

/// Most tokens of a reply whose budget nobody set, for the estimate of what it may cost.
const UNBOUNDED_REPLY_TOKENS: u32 = 32_000;

/// Fewest tokens that are worth asking for; with less left the run ends.
const LEAST_REPLY_TOKENS: u32 = 256;

impl RunMachine {
    /// What the run has cost so far; `None` without a cost limit, whose prices nobody else knows.
    #[must_use]
    pub fn cost(&self) -> Option<Dollars> {
        Some(self.setup.limits.cost?.prices().cost(self.head.tokens))
    }

    /// Most tokens of the next reply.
    pub(super) fn max_output_tokens(&self) -> Option<u32> {
        let budget = self.head.reply_budget.or(self.setup.max_output_tokens);
        match (budget, self.head.affordable) {
            (Some(budget), Some(affordable)) => Some(budget.min(affordable)),
            (budget, affordable) => budget.or(affordable),
        }
    }

    /// Begins the estimate of the next prompt with the history and the tools.
    pub(super) fn count_prompt(&mut self) {
        let history: u64 = self.transcript.messages().iter().map(|message| tokens(message)).sum();
        self.head.prompt_tokens = history.saturating_add(self.setup.definition_bytes / BYTES_PER_TOKEN);
    }

    /// Adds a message to the estimate of the next prompt.
    pub(super) fn count_message(&mut self, message: &Message) {
        self.head.prompt_tokens = self.head.prompt_tokens.saturating_add(tokens(message));
    }

    /// Takes what a reply used; where the provider counted, its count replaces the estimate.
    pub(super) fn count_usage(&mut self, usage: TokenUsage) {
        self.head.tokens = self.head.tokens.plus(usage);
        if usage.input_tokens > 0 {
            self.head.prompt_tokens = usage.input_tokens;
        }
    }

    /// Ends the run when the next model call could cost more than is left, and else notes how long its
    /// reply may be, so that one call cannot overshoot the limit.
    ///
    /// The prompt is an estimate, so the limit can be passed by what the estimate is off.
    pub(super) fn fit_cost(&mut self) {
        let (Some(limit), Some(spent)) = (self.setup.limits.cost, self.cost()) else { return };
        let prices = limit.prices();
        let prompt = TokenUsage { input_tokens: self.head.prompt_tokens, ..TokenUsage::default() };
        let left = limit.max_dollars().get() - spent.get() - prices.cost(prompt).get();
        let budget = self.head.reply_budget.or(self.setup.max_output_tokens);
        let wanted = budget.or(self.setup.model_output_tokens).unwrap_or(UNBOUNDED_REPLY_TOKENS);
        let of_tokens =
            |output| prices.cost(TokenUsage { output_tokens: u64::from(output), ..TokenUsage::default() });
        if left < 0.0 || of_tokens(wanted.min(LEAST_REPLY_TOKENS)).get() > left {
            let message = format!(
                "the next model call could cost more than is left: {spent} of {} are spent",
                limit.max_dollars()
            );
            return self.fail(RunErrorInfo::new(ErrorKind::CostLimit, message));
        }
        let fits = of_tokens(wanted).get() <= left;
        self.head.affordable = (!fits).then(|| most(wanted, |output| of_tokens(output).get() <= left));
    }
}

/// The largest number up to `wanted` that fits; what fits is everything below some number.
fn most(wanted: u32, fits: impl Fn(u32) -> bool) -> u32 {
    let (mut fitting, mut too_many) = (0, wanted);
    while too_many - fitting > 1 {
        let middle = fitting + (too_many - fitting) / 2;
        if fits(middle) {
            fitting = middle;
        } else {
            too_many = middle;
        }
    }
    fitting
}

/// About how many tokens a message has.
fn tokens(message: &Message) -> u64 {
    let of_text = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX) / BYTES_PER_TOKEN;
    let of_blocks = |blocks: &[Block]| -> u64 {
        let of_block = |block: &Block| match block {
            Block::Text { text } => of_text(text),
            Block::Json { value } => of_text(&value.to_string()),
            // Pictures and the like; what the core may add later is no smaller.
            _ => MEDIA_TOKENS,
        };
        blocks.iter().map(of_block).fold(0, u64::saturating_add)
    };
    match message {
        Message::System { text } => of_text(text),
        Message::User { content } => of_blocks(content),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| of_text(&call.name) + of_text(&call.arguments));
            of_text(text.as_deref().unwrap_or_default()).saturating_add(calls.sum())
        }
        // The structured result beside the text is for programs; models read the text.
        Message::Tool { content, .. } => of_blocks(content.get(..1).unwrap_or_default()),
        // A kind of message the core may add later.
        _ => MEDIA_TOKENS,
    }
}
