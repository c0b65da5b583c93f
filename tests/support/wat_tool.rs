//! Hostile tools written as core WebAssembly text, wrapped into real components.
//!
//! Rust cannot express a start function that loops or a result that points outside of memory; text can.

use anyhow::{Context as _, Result};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The parts of a tool that a test fills in; what is left out is harmless.
#[derive(Debug, Clone, Default)]
pub struct WatTool<'a> {
    /// The body of the tool's function; leaves an `i32` on the stack, such as `(call $ok)`.
    pub call: &'a str,
    /// Further items of the module: functions, tables, a start function, a second memory.
    pub extra: &'a str,
    /// The body of `cabi_realloc`; the arguments go through it.
    pub realloc: Option<&'a str>,
    /// The body of the function that cleans up after a result was read.
    pub post_return: Option<&'a str>,
    /// Pages of memory at the start; two when zero.
    pub pages: u32,
}

/// Where the return area lies.
const RETURN_AREA: u32 = 1024;

/// Where `cabi_realloc` begins to give out memory.
const HEAP: u32 = 65_536;

impl WatTool<'_> {
    /// The bytes of the component.
    ///
    /// # Errors
    /// The text does not parse, or makes no valid component.
    pub fn build(&self) -> Result<Vec<u8>> {
        let text = self.module();
        let mut module = wat::parse_str(&text).with_context(|| format!("in this module:\n{text}"))?;
        let mut resolve = Resolve::default();
        let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
        resolve.push_dir(format!("{wit}/types")).context("wit/types")?;
        let (package, _) = resolve.push_dir(format!("{wit}/tool")).context("wit/tool")?;
        let world = resolve.select_world(&[package], Some("tool"))?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
        ComponentEncoder::default().validate(true).module(&module)?.encode().context("encoding the component")
    }

    fn module(&self) -> String {
        let pages = self.pages.max(2);
        let call = self.call;
        let extra = self.extra;
        let realloc = self.realloc.unwrap_or("(call $bump (local.get 3))");
        let post_return = self.post_return.map_or_else(String::new, |body| {
            format!(r#"(func (export "cabi_post_hotcell:tool/tools@0.1.0#call") (param i32) {body})"#)
        });
        format!(
            r#"(module
  (memory (export "memory") {pages})
  (global $heap (mut i32) (i32.const {HEAP}))
  (func $bump (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $heap))
    (global.set $heap (i32.and (i32.add (i32.add (global.get $heap) (local.get $size)) (i32.const 7)) (i32.const -8)))
    (local.get $at))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {realloc})
  ;; A result with one text of `len` bytes at `at`.
  (func $text (param $at i32) (param $len i32) (result i32)
    (i32.store (i32.const {ok_list}) (i32.const {block}))
    (i32.store (i32.const {ok_count}) (i32.const 1))
    (i32.store (i32.const {block_at}) (local.get $at))
    (i32.store (i32.const {block_len}) (local.get $len))
    (i32.const {RETURN_AREA}))
  (func $ok (result i32) (call $text (i32.const 512) (i32.const 2)))
  (data (i32.const 512) "ok")
  ;; One definition: name `t`, an empty description, the schema of an object.
  (data (i32.const 528) "t{{\"type\":\"object\"}}")
  {extra}
  (func (export "hotcell:tool/tools@0.1.0#call")
    (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    {call})
  {post_return}
  (func (export "hotcell:tool/tools@0.1.0#definitions") (result i32)
    (i32.store (i32.const 2048) (i32.const 2064))
    (i32.store (i32.const 2052) (i32.const 1))
    (i32.store (i32.const 2064) (i32.const 528))
    (i32.store (i32.const 2068) (i32.const 1))
    (i32.store (i32.const 2092) (i32.const 529))
    (i32.store (i32.const 2096) (i32.const 17))
    (i32.const 2048)))"#,
            ok_list = RETURN_AREA + 4,
            ok_count = RETURN_AREA + 8,
            block = RETURN_AREA + 128,
            block_at = RETURN_AREA + 132,
            block_len = RETURN_AREA + 136,
        )
    }
}
