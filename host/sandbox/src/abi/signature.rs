//! Signatures as text, to compare what a component exports with what a version of the interface asks for.

use wasmtime::component::Type;
use wasmtime::component::types::ComponentItem;

/// Bytes of a signature that are written; a longer one is no signature of ours. Types can share parts, so a
/// small component can have a type whose text would never end.
const MAX_BYTES: usize = 2_048;

/// Nesting of a signature that is written.
const MAX_DEPTH: u32 = 16;

/// The signature of an exported function, such as `(string) -> list<u8>`; no signature for other items.
pub(super) fn signature(item: &ComponentItem) -> Option<String> {
    let ComponentItem::ComponentFunc(function) = item else { return None };
    let mut text = Text::default();
    text.push("(");
    for (index, (_name, ty)) in function.params().enumerate() {
        text.push(if index == 0 { "" } else { ", " });
        text.ty(&ty, 0);
    }
    text.push(")");
    for ty in function.results() {
        text.push(" -> ");
        text.ty(&ty, 0);
    }
    Some(text.0)
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn push(&mut self, part: &str) {
        if self.0.len() + part.len() <= MAX_BYTES {
            self.0.push_str(part);
        }
    }

    fn ty(&mut self, ty: &Type, depth: u32) {
        if depth > MAX_DEPTH || self.0.len() >= MAX_BYTES {
            return;
        }
        match ty {
            Type::Bool => self.push("bool"),
            Type::U8 => self.push("u8"),
            Type::U32 => self.push("u32"),
            Type::U64 => self.push("u64"),
            Type::String => self.push("string"),
            Type::List(list) => self.of("list", [Some(list.ty())], depth),
            Type::Option(option) => self.of("option", [Some(option.ty())], depth),
            Type::Result(result) => self.of("result", [result.ok(), result.err()], depth),
            Type::Record(record) => {
                self.named("record", record.fields().map(|field| (field.name, Some(field.ty))), depth);
            }
            Type::Variant(variant) => {
                self.named("variant", variant.cases().map(|case| (case.name, case.ty)), depth);
            }
            Type::Enum(cases) => self.named("enum", cases.names().map(|name| (name, None)), depth),
            // No version of the interface has any other type.
            _ => self.push("(another type)"),
        }
    }

    fn of(&mut self, what: &str, parts: impl IntoIterator<Item = Option<Type>>, depth: u32) {
        self.push(what);
        for (index, part) in parts.into_iter().enumerate() {
            self.push(if index == 0 { "<" } else { ", " });
            match part {
                Some(part) => self.ty(&part, depth + 1),
                None => self.push("_"),
            }
        }
        self.push(">");
    }

    fn named<'a>(&mut self, what: &str, parts: impl Iterator<Item = (&'a str, Option<Type>)>, depth: u32) {
        self.push(what);
        for (index, (name, ty)) in parts.enumerate() {
            if self.0.len() >= MAX_BYTES {
                return;
            }
            self.push(if index == 0 { "{" } else { ", " });
            self.push(name);
            if let Some(ty) = ty {
                self.push(": ");
                self.ty(&ty, depth + 1);
            }
        }
        self.push("}");
    }
}
