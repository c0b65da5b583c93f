//! Components with more of everything than any toolchain writes.

use super::super::bounds::Counted;
use super::{component, wat};

fn many(count: usize, text: &str) -> String {
    text.repeat(count)
}

fn numbered(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect()
}

fn module(inside: &str) -> Vec<u8> {
    component(&format!("(core module {inside})"))
}

/// A function that writes variables, branches, and reads them all.
fn crossing(variables: usize, branches: usize) -> Vec<u8> {
    let declared = many(variables, " i32");
    let branching = numbered(branches, |n| {
        format!("(if (local.get {0}) (then (local.set {0} (i32.const 1))))", n % variables)
    });
    let read = numbered(variables, |n| format!("(drop (local.get {n}))"));
    module(&format!("(func (local{declared}) {branching} {read})"))
}

/// Components that instantiate the one before them ten times each.
fn unfolding(levels: usize) -> Vec<u8> {
    let level = |n: usize| {
        format!("(component $c{n} {})", many(10, &format!("(instance (instantiate $c{}))", n - 1)))
    };
    // Each level stands inside of the next, so that it can be named.
    let mut text = "(component $c0)".to_owned();
    for n in 1..=levels {
        text.push_str(&level(n).replacen(
            &format!("(component $c{n} "),
            &format!("(component $c{n} (alias outer 1 $c{0} (component $c{0}))", n - 1),
            1,
        ));
    }
    component(&text)
}

/// A component with a module of this many functions, all with this body; as text it would take a gigabyte.
fn bodies(count: usize, body: &[u8]) -> Vec<u8> {
    let functions = [number(count), vec![0; count]].concat();
    let code = [number(count), [number(body.len()), body.to_vec()].concat().repeat(count)].concat();
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, &[1, 0x60, 0, 0]),
        section(3, &functions),
        section(10, &code),
    ];
    [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module.concat())].concat()
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [vec![id], number(content.len()), content.to_vec()].concat()
}

/// A number as the format writes it.
fn number(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

/// Instances of a component whose imports are many.
fn comparing(imports: usize, instances: usize) -> Vec<u8> {
    let exports = numbered(imports, |n| format!("(export \"e{n}\" (func))"));
    let made = many(instances, "(instance (instantiate $c (with \"x\" (instance $i))))");
    component(&format!(
        "(import \"a:b/i\" (instance $i {exports})) (component $c (import \"x\" (instance {exports}))) {made}"
    ))
}

/// Just below the bounds.
pub(super) fn accepted() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("functions", module(&many(290_000, "(func)"))),
        ("data", module(&format!("(memory 1) {}", many(19_000, "(data \"x\")")))),
        ("elements", module(&format!("(func $f) {}", many(19_000, "(elem func $f)")))),
        ("imports", module(&numbered(49_000, |n| format!("(import \"a\" \"{n}\" (func))")))),
        (
            "aliases",
            component(&format!("(type u8) (component {})", many(49_000, "(alias outer 1 0 (type))"))),
        ),
        ("types", component(&many(90_000, "(type (func (param \"a\" string) (result string)))"))),
        ("one large body", module(&format!("(func {})", many(3_600_000, "nop ")))),
        ("unfolded", unfolding(3)),
        ("crossings", crossing(500, 5_000)),
    ]
}

/// Just above them.
pub(super) fn refused() -> Vec<(Counted, Vec<u8>)> {
    let fields = numbered(300, |n| format!("(field \"f{n}\" u8)"));
    let exports = numbered(1_001, |n| format!("(export \"e{n}\" (func $f))"));
    vec![
        (Counted::Functions, module(&many(300_001, "(func)"))),
        (Counted::CustomSections, component(&many(2_001, "(@custom \"c\" \"\")"))),
        (Counted::Nesting, component(&format!("{}{}", many(32, "(component "), many(32, ")")))),
        (Counted::Components, component(&many(1_001, "(component)"))),
        (Counted::Modules, component(&many(501, "(core module)"))),
        (Counted::UnfoldedInstances, unfolding(5)),
        (Counted::Comparisons, comparing(10_000, 300)),
        (Counted::Types, component(&many(100_001, "(type u8)"))),
        (Counted::TypeBytes, component(&many(1_500, &format!("(type (record {fields}))")))),
        (Counted::FunctionBytes, module(&format!("(func {})", many(7_340_033, "nop ")))),
        (Counted::FunctionLocals, module(&format!("(func (local{}))", many(50_001, " i32")))),
        (Counted::AllLocals, bodies(201, &[1, 0xd0, 0x86, 0x03, 0x7f, 0x0b])),
        (Counted::Crossings, crossing(2_000, 20_000)),
        (Counted::CoreImports, module(&many(50_001, "(import \"a\" \"b\" (func))"))),
        (
            Counted::CoreExports,
            module(&format!("(func $f) {}", numbered(100_001, |n| format!("(export \"{n}\" (func $f))")))),
        ),
        (Counted::TopImports, component(&numbered(1_001, |n| format!("(import \"i{n}\" (func))")))),
        (
            Counted::TopExports,
            wat(&format!(
                "(component (core module $m (func (export \"run\"))) (core instance $i (instantiate $m)) \
                 (func $f (canon lift (core func $i \"run\"))) {exports})"
            )),
        ),
        (Counted::NameBytes, module(&format!("(func (export \"{}\"))", many(16_385, "n")))),
        (
            Counted::AllNameBytes,
            module(&format!("(func $f) {}", numbered(520, |n| format!("(export \"{n:016384}\" (func $f))")))),
        ),
        (Counted::Memories, component(&many(201, "(core module (memory 1))"))),
        (Counted::MemoryBytes, component(&many(3, "(core module (memory 65536))"))),
        (Counted::Tables, component(&many(201, "(core module (table 1 funcref))"))),
        (Counted::TableElements, component(&many(2, "(core module (table 6000000 funcref))"))),
        (Counted::Globals, module(&many(100_001, "(global i32 (i32.const 0))"))),
        (Counted::DataSegments, module(&format!("(memory 1) {}", many(20_001, "(data \"x\")")))),
        (Counted::ElementSegments, module(&format!("(func $f) {}", many(20_001, "(elem func $f)")))),
        (Counted::SegmentElements, module(&format!("(func $f) (elem func {})", many(1_000_001, "$f ")))),
        (
            Counted::Aliases,
            component(&format!("(type u8) (component {})", many(50_001, "(alias outer 1 0 (type))"))),
        ),
    ]
}
