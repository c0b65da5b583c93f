//! Components written by a program: a large one as real tools are, and ones that are hard to compile.
//! The same numbers give the same bytes.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use hotcell_core::tool::Definition;

use crate::wat_tool::WatTool;

/// Functions that do nothing in common are rare in real code; a few shapes make up most of it.
const SHAPES: u64 = 9;

/// Statements of a function.
const STATEMENTS: u64 = 14;

/// A tool of about so many bytes: four fifths are functions with loops, branches, calls, loads, stores and arithmetic,
/// the rest is data. It answers `ok`.
///
/// # Errors
/// The text does not parse, or makes no valid component.
pub fn realistic(bytes: usize) -> Result<Vec<u8>> {
    // A function of these shapes has about so many bytes.
    const FUNCTION_BYTES: usize = 275;
    let mut random = Random(0x5eed);
    let mut extra = String::new();
    let functions = bytes / 5 * 4 / FUNCTION_BYTES;
    for number in 0..functions {
        function(&mut extra, number as u64, &mut random)?;
    }
    let data_bytes = bytes / 5;
    for chunk in 0..data_bytes / 4_096 {
        let at = 1_048_576 + chunk * 4_096;
        let text: String =
            (0..4_096).map(|_| char::from(b'a' + u8::try_from(random.below(26)).unwrap_or(0))).collect();
        writeln!(extra, "(data (i32.const {at}) \"{text}\")")?;
    }
    let pages = u32::try_from(64 + data_bytes.div_ceil(65_536)).context("too large a component")?;
    tool(&extra, pages)
}

/// A component that takes seconds and much memory to compile: in each function each branch may change one of many
/// variables, and the compiler follows each variable through each branch. Each number is another component.
///
/// # Errors
/// As [`realistic`].
pub fn hostile(number: u32) -> Result<Vec<u8>> {
    const FUNCTIONS: usize = 24;
    const BRANCHES: usize = 2_000;
    const VARIABLES: usize = 400;
    let mut extra = format!("(func $use (param i32)) (global i32 (i32.const {number}))\n");
    for _ in 0..FUNCTIONS {
        writeln!(extra, "(func {}", "(local i32)".repeat(VARIABLES))?;
        for n in 0..BRANCHES {
            let (read, write) = (n % VARIABLES, (n * 7 + 1) % VARIABLES);
            let changed = format!("(i32.add (local.get {read}) (i32.const {n}))");
            writeln!(extra, "(if (local.get {read}) (then (local.set {write} {changed})))")?;
        }
        for n in 0..VARIABLES {
            writeln!(extra, "(call $use (local.get {n}))")?;
        }
        extra.push(')');
    }
    tool(&extra, 2)
}

/// A tool that compiles in a moment. Each number is another component.
///
/// # Errors
/// As [`realistic`].
pub fn small(number: u32) -> Result<Vec<u8>> {
    tool(&format!("(global i32 (i32.const {number}))"), 2)
}

fn tool(extra: &str, pages: u32) -> Result<Vec<u8>> {
    let tool = WatTool { call: "(call $ok)", extra, pages, ..WatTool::default() }.build()?;
    let definition: Definition = serde_json::from_value(serde_json::json!({
        "name": "t", "description": "Answers ok.", "input_schema": { "type": "object" }
    }))?;
    hotcell_compiler::embed_definitions(&tool, &[definition]).context("the definitions can be embedded")
}

fn function(text: &mut String, number: u64, random: &mut Random) -> Result<()> {
    writeln!(text, "(func $f{number} (param i32 i32) (result i32) (local i32 i32 i64 f64)")?;
    for _ in 0..STATEMENTS {
        let (offset, constant) = (random.below(4_096) * 8, random.below(1 << 20));
        match random.below(SHAPES) {
            0 => write!(
                text,
                "(block (loop (br_if 1 (i32.ge_u (local.get 2) (i32.const {constant}))) (i32.store8 offset={offset} (i32.and (local.get 2) (i32.const 65535)) (local.get 3)) (local.set 2 (i32.add (local.get 2) (i32.const 1))) (br 0)))"
            ),
            1 => write!(
                text,
                "(if (i32.lt_s (local.get 0) (i32.const {constant})) (then (local.set 3 (i32.load offset={offset} (i32.and (local.get 1) (i32.const 65532))))) (else (local.set 3 (i32.mul (local.get 3) (i32.const {constant})))))"
            ),
            2 if number > 0 => write!(
                text,
                "(local.set 2 (call $f{} (local.get 3) (i32.const {constant})))",
                random.below(number)
            ),
            2 | 3 => write!(
                text,
                "(local.set 4 (i64.xor (i64.rotl (local.get 4) (i64.const {})) (i64.extend_i32_u (local.get 2))))",
                random.below(64)
            ),
            4 => write!(
                text,
                "(i64.store offset={offset} (i32.and (local.get 3) (i32.const 65528)) (i64.mul (local.get 4) (i64.const {constant})))"
            ),
            5 => write!(
                text,
                "(local.set 5 (f64.add (f64.mul (local.get 5) (f64.const {constant}.5)) (f64.convert_i32_s (local.get 2))))"
            ),
            6 => write!(
                text,
                "(block (block (block (br_table 0 1 2 (i32.and (local.get 2) (i32.const 3)))) (local.set 2 (i32.const {constant}))) (local.set 3 (i32.sub (local.get 3) (local.get 0))))"
            ),
            7 => write!(
                text,
                "(local.set 3 (select (local.get 2) (i32.shr_u (local.get 3) (i32.const {})) (i32.eqz (local.get 0))))",
                random.below(31)
            ),
            _ => write!(text, "(local.set 2 (i32.trunc_sat_f64_s (local.get 5)))"),
        }?;
    }
    writeln!(text, "(i32.add (local.get 2) (i32.xor (local.get 3) (i32.wrap_i64 (local.get 4)))))")?;
    Ok(())
}

/// The same numbers each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
