//! One pass over a component: checks it and notes what it is made of.

use serde::{Deserialize, Serialize};
use wasmparser::{
    ComponentExport, ComponentTypeRef, CustomSectionReader, Encoding, FromReader, FuncValidatorAllocations,
    KnownCustom, Parser, Payload, SectionLimited, ValidPayload, Validator,
};

use super::bounds::Counted;
use super::features;
use super::imports::Import;
use super::nesting;
use super::prescan::{Prescan, within};
use super::tool;
use crate::error::{LoadError, quote};

/// Entries of the sections that say which tools made the file; more are not looked at.
const MAX_PRODUCERS: usize = 64;
/// Claims that are read to find them; many may say the same.
const MAX_CLAIMS: usize = 1_000;

/// Whether the bodies of functions are checked as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bodies {
    Skip,
    Validate,
}

/// What a component is made of, as written in the file: a nested component that is instantiated twice counts once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreShape {
    /// Core modules.
    pub modules: u32,
    /// Core instances that are made from a module.
    pub instances: u32,
    /// Linear memories.
    pub memories: u32,
    /// Bytes all memories have at the start, together.
    pub minimum_memory_bytes: u64,
    /// Tables.
    pub tables: u32,
    /// Elements all tables have at the start, together.
    pub minimum_table_elements: u64,
    /// Functions that run as soon as the component is instantiated, before any call.
    pub start_functions: u32,
}

/// A tool or language that made the component, by its own account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Producer {
    /// `language`, `sdk` or `processed-by`.
    pub field: String,
    /// Its name.
    pub name: String,
    /// Its version; may be empty.
    pub version: String,
}

/// The custom sections of one name.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    /// The first at the top level.
    pub(crate) first: Option<&'a [u8]>,
    /// How many there are at the top level.
    pub(crate) top: usize,
    /// How many there are deeper inside.
    pub(crate) nested: usize,
}

/// What a pass found.
#[derive(Debug, Default)]
pub(super) struct Walk<'a> {
    pub(super) imports: Vec<Import>,
    pub(super) exports: Vec<String>,
    pub(super) core: CoreShape,
    pub(super) producers: Vec<Producer>,
    claims: usize,
    /// What it does not export of the interface of tools.
    pub(super) missing: Vec<String>,
    pub(super) sections: Found<'a>,
}

/// Checks a component and notes what it is made of, with the custom sections called `section`.
pub(super) fn walk<'a>(component: &'a [u8], section: &str, bodies: Bodies) -> Result<Walk<'a>, LoadError> {
    let features = features::accepted();
    let mut validator = Validator::new_with_features(features);
    let mut parser = Parser::new(0);
    parser.set_features(features);
    let mut walk = Walk::default();
    let mut scan = Prescan::new();
    let mut allocations = FuncValidatorAllocations::default();
    for payload in parser.parse_all(component) {
        let payload = payload.map_err(|error| explain(&error))?;
        scan.count(&payload).map_err(Fault::explain)?;
        if let Payload::ComponentTypeSection(types) = &payload {
            let range = types.range();
            let content = component.get(range.clone()).unwrap_or_default();
            nesting::check(content, range.start, features, &mut scan).map_err(Fault::explain)?;
        }
        let valid = validator.payload(&payload).map_err(|error| explain(&error))?;
        match valid {
            ValidPayload::Func(function, body) if bodies == Bodies::Validate => {
                let mut function = function.into_validator(allocations);
                function.validate(&body).map_err(|error| explain(&error))?;
                allocations = function.into_allocations();
            }
            // The last to end is the component itself.
            ValidPayload::End(types) if scan.depth() == 0 => {
                walk.missing = tool::missing(&types, &walk.exports);
            }
            _ => {}
        }
        walk.note(&payload, scan.depth(), section).map_err(Fault::explain)?;
    }
    Ok(walk)
}

/// Finds the custom sections of this name without checking anything else.
pub(crate) fn find_sections<'a>(component: &'a [u8], section: &str) -> Result<Found<'a>, LoadError> {
    let mut found = Found::default();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(|error| explain(&error))? {
            Payload::Version { range, .. } => {
                depth += 1;
                within(Counted::Nesting, depth as u64, range.start).map_err(Fault::explain)?;
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(custom) if custom.name() == section => found.add(&custom, depth),
            _ => {}
        }
    }
    Ok(found)
}

impl<'a> Found<'a> {
    fn add(&mut self, custom: &CustomSectionReader<'a>, depth: usize) {
        if depth == 1 {
            self.first.get_or_insert(custom.data());
            self.top += 1;
        } else {
            self.nested += 1;
        }
    }
}

/// Why a pass stops.
#[derive(Debug)]
pub(super) enum Fault {
    Parser(wasmparser::Error),
    TooMany { counted: Counted, found: u64, offset: usize },
}

impl From<wasmparser::Error> for Fault {
    fn from(error: wasmparser::Error) -> Self {
        Self::Parser(error)
    }
}

impl Fault {
    fn explain(self) -> LoadError {
        match self {
            Self::Parser(error) => explain(&error),
            Self::TooMany { counted, found, offset } => {
                LoadError::TooMany { counted, found, limit: counted.bound().limit, offset: offset as u64 }
            }
        }
    }
}

impl<'a> Walk<'a> {
    fn note(&mut self, payload: &Payload<'a>, depth: usize, section: &str) -> Result<(), Fault> {
        let top = depth == 1;
        match payload {
            Payload::Version { encoding: Encoding::Module, .. } => add(&mut self.core.modules, 1),
            Payload::InstanceSection(instances) => {
                let made = each(instances)?
                    .into_iter()
                    .filter(|one| matches!(one, wasmparser::Instance::Instantiate { .. }));
                add(&mut self.core.instances, made.count());
            }
            Payload::MemorySection(memories) => {
                for memory in each(memories)? {
                    add(&mut self.core.memories, 1);
                    let page = 1_u64 << memory.page_size_log2.unwrap_or(16).min(16);
                    let bytes = &mut self.core.minimum_memory_bytes;
                    *bytes = bytes.saturating_add(memory.initial.saturating_mul(page));
                }
            }
            Payload::TableSection(tables) => {
                for table in each(tables)? {
                    add(&mut self.core.tables, 1);
                    let elements = &mut self.core.minimum_table_elements;
                    *elements = elements.saturating_add(table.ty.initial);
                }
            }
            Payload::StartSection { .. } | Payload::ComponentStartSection { .. } => {
                add(&mut self.core.start_functions, 1);
            }
            Payload::ComponentImportSection(imports) if top => {
                for import in each(imports)? {
                    let is_instance = matches!(import.ty, ComponentTypeRef::Instance(_));
                    self.imports.push(Import { name: import.name.name.to_owned(), is_instance });
                }
            }
            Payload::ComponentExportSection(exports) if top => {
                self.exports.extend(each(exports)?.iter().map(export_name));
            }
            Payload::CustomSection(custom) if custom.name() == section => self.sections.add(custom, depth),
            Payload::CustomSection(custom) => self.note_producers(custom),
            _ => {}
        }
        Ok(())
    }

    /// Producers are claims, so a section that is broken is as good as none.
    fn note_producers(&mut self, custom: &CustomSectionReader<'a>) {
        let KnownCustom::Producers(fields) = custom.as_known() else {
            return;
        };
        for field in fields.into_iter().flatten() {
            for value in field.values.into_iter().flatten() {
                if self.claims >= MAX_CLAIMS {
                    return;
                }
                self.claims += 1;
                let producer = Producer {
                    field: quote(field.name),
                    name: quote(value.name),
                    version: quote(value.version),
                };
                if self.producers.len() < MAX_PRODUCERS && !self.producers.contains(&producer) {
                    self.producers.push(producer);
                }
            }
        }
    }
}

fn each<'a, T: FromReader<'a>>(section: &SectionLimited<'a, T>) -> Result<Vec<T>, wasmparser::Error> {
    section.clone().into_iter().collect()
}

fn add(count: &mut u32, more: usize) {
    *count = count.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
}

fn export_name(export: &ComponentExport<'_>) -> String {
    quote(export.name.name)
}

fn explain(error: &wasmparser::Error) -> LoadError {
    let offset = error.offset();
    match error.missing_wasm_feature() {
        Some(feature) => LoadError::UnsupportedFeature {
            feature: features::name(feature),
            reason: quote(error.message()),
            offset: Some(offset as u64),
        },
        None => LoadError::invalid(error.message(), Some(offset)),
    }
}
