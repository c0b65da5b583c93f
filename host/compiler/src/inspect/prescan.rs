//! Counts what a component is made of, and stops at the first [bound](super::bounds) it passes.
//!
//! Each payload is counted before the validator sees it. Numbers that the file claims are compared before anything is
//! read or allocated for them; the work is linear in the file, and nothing here calls itself.

use wasmparser::{
    ComponentInstance, ComponentTypeRef, CustomSectionReader, ElementItems, Encoding, FunctionBody, Instance,
    MemoryType, Payload, SectionLimited, TypeRef,
};

use super::bounds::{BOUNDS, Counted};
use super::walk::Fault;
use crossings::Crossings;

mod crossings;

/// The numbers so far.
#[derive(Debug)]
pub(super) struct Prescan {
    totals: [u64; BOUNDS.len()],
    /// One for each component or module that is open.
    open: Vec<Scope>,
    /// The most instances that one of the components so far is, when all it instantiates is unfolded.
    largest: u64,
    /// Bytes of the imports of one module, the most so far.
    most_imports: u64,
    crossings: Crossings,
}

#[derive(Debug)]
struct Scope {
    /// None for a module.
    instances: Option<u64>,
}

impl Prescan {
    pub(super) fn new() -> Self {
        Self {
            totals: [0; BOUNDS.len()],
            open: Vec::new(),
            largest: 1,
            most_imports: 0,
            crossings: Crossings::default(),
        }
    }

    /// How many components and modules are open: one at the top level.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Counts one payload.
    pub(super) fn count(&mut self, payload: &Payload<'_>) -> Result<(), Fault> {
        match payload {
            Payload::Version { encoding, range, .. } => self.enter(*encoding, range.start),
            Payload::End(_) => {
                self.leave();
                Ok(())
            }
            Payload::CodeSectionEntry(body) => self.body(body),
            section => {
                let offset = section.as_section().map_or(0, |(_, range)| range.start);
                self.add(Counted::Sections, 1, offset)?;
                if self.open.last().is_some_and(|scope| scope.instances.is_none()) {
                    self.core_section(section)
                } else {
                    self.component_section(section)
                }
            }
        }
    }

    fn enter(&mut self, encoding: Encoding, offset: usize) -> Result<(), Fault> {
        let (counted, instances) = match encoding {
            Encoding::Module => (Counted::Modules, None),
            Encoding::Component => (Counted::Components, Some(1)),
        };
        self.add(counted, 1, offset)?;
        self.open.push(Scope { instances });
        within(Counted::Nesting, self.open.len() as u64, offset)
    }

    fn leave(&mut self) {
        if let Some(Scope { instances: Some(instances) }) = self.open.pop() {
            self.largest = self.largest.max(instances);
        }
    }

    fn core_section(&mut self, section: &Payload<'_>) -> Result<(), Fault> {
        match section {
            Payload::TypeSection(types) => self.types(types),
            Payload::ImportSection(imports) => {
                within(Counted::CoreImports, imports.count().into(), imports.range().start)?;
                self.most_imports = self.most_imports.max(imports.range().len() as u64);
                for import in imports.clone().into_imports_with_offsets() {
                    let (offset, import) = import?;
                    self.add(Counted::CoreImports, 1, offset)?;
                    self.name(import.module, offset)?;
                    self.name(import.name, offset)?;
                    if let TypeRef::Memory(memory) = import.ty {
                        self.memory(&memory, offset)?;
                    }
                }
                Ok(())
            }
            Payload::FunctionSection(functions) => self.all(Counted::Functions, functions),
            Payload::TableSection(tables) => {
                self.all(Counted::Tables, tables)?;
                for table in tables.clone().into_iter_with_offsets() {
                    let (offset, table) = table?;
                    self.add(Counted::TableElements, table.ty.initial, offset)?;
                }
                Ok(())
            }
            Payload::MemorySection(memories) => {
                self.all(Counted::Memories, memories)?;
                for memory in memories.clone().into_iter_with_offsets() {
                    let (offset, memory) = memory?;
                    self.memory(&memory, offset)?;
                }
                Ok(())
            }
            Payload::TagSection(tags) => self.all(Counted::Tags, tags),
            Payload::GlobalSection(globals) => self.all(Counted::Globals, globals),
            Payload::ExportSection(exports) => {
                self.all(Counted::CoreExports, exports)?;
                for export in exports.clone().into_iter_with_offsets() {
                    let (offset, export) = export?;
                    self.name(export.name, offset)?;
                }
                Ok(())
            }
            Payload::ElementSection(elements) => {
                self.all(Counted::ElementSegments, elements)?;
                for element in elements.clone().into_iter_with_offsets() {
                    let (offset, element) = element?;
                    let count = match element.items {
                        ElementItems::Functions(items) => items.count(),
                        ElementItems::Expressions(_, items) => items.count(),
                    };
                    self.add(Counted::SegmentElements, count.into(), offset)?;
                }
                Ok(())
            }
            Payload::DataSection(data) => self.all(Counted::DataSegments, data),
            Payload::DataCountSection { count, range } => {
                within(Counted::DataSegments, (*count).into(), range.start)
            }
            Payload::CodeSectionStart { count, range, .. } => {
                within(Counted::Functions, (*count).into(), range.start)
            }
            Payload::CustomSection(custom) => self.custom(custom),
            // A start function is one at most, and what is unknown is refused by the validator.
            _ => Ok(()),
        }
    }

    fn component_section(&mut self, section: &Payload<'_>) -> Result<(), Fault> {
        match section {
            Payload::InstanceSection(instances) => {
                self.all(Counted::Instances, instances)?;
                self.unfold(instances.count().into(), instances.range().start)?;
                for instance in instances.clone().into_iter_with_offsets() {
                    let (offset, instance) = instance?;
                    if let Instance::Instantiate { .. } = instance {
                        self.add(Counted::Comparisons, self.most_imports, offset)?;
                    }
                }
                Ok(())
            }
            Payload::ComponentInstanceSection(instances) => {
                self.all(Counted::Instances, instances)?;
                for instance in instances.clone().into_iter_with_offsets() {
                    let (offset, instance) = instance?;
                    let unfolded = match instance {
                        ComponentInstance::Instantiate { .. } => {
                            self.compare_types(offset)?;
                            self.largest
                        }
                        ComponentInstance::FromExports(_) => 1,
                    };
                    self.unfold(unfolded, offset)?;
                }
                Ok(())
            }
            Payload::CoreTypeSection(types) => self.types(types),
            Payload::ComponentTypeSection(types) => self.types(types),
            Payload::ComponentAliasSection(aliases) => self.all(Counted::Aliases, aliases),
            Payload::ComponentCanonicalSection(functions) => self.all(Counted::CanonicalFunctions, functions),
            Payload::ComponentImportSection(imports) => {
                self.all(Counted::Imports, imports)?;
                self.all_at_top(Counted::TopImports, imports)?;
                for import in imports.clone().into_iter_with_offsets() {
                    let (offset, import) = import?;
                    self.name(import.name.name, offset)?;
                }
                Ok(())
            }
            Payload::ComponentExportSection(exports) => {
                self.all(Counted::Exports, exports)?;
                self.all_at_top(Counted::TopExports, exports)?;
                for export in exports.clone().into_iter_with_offsets() {
                    let (offset, export) = export?;
                    self.name(export.name.name, offset)?;
                    if let Some(ComponentTypeRef::Instance(_) | ComponentTypeRef::Component(_)) = export.ty {
                        self.compare_types(offset)?;
                    }
                }
                Ok(())
            }
            Payload::CustomSection(custom) => self.custom(custom),
            // Modules and components are counted when they are entered; what is unknown the validator refuses.
            _ => Ok(()),
        }
    }

    /// What is declared inside of the types is counted where their nesting is checked.
    fn types<T>(&mut self, types: &SectionLimited<'_, T>) -> Result<(), Fault> {
        let range = types.range();
        self.add(Counted::TypeBytes, range.len() as u64, range.start)?;
        self.all(Counted::Types, types)
    }

    fn custom(&mut self, custom: &CustomSectionReader<'_>) -> Result<(), Fault> {
        let offset = custom.range().start;
        self.add(Counted::CustomSections, 1, offset)?;
        self.name(custom.name(), offset)
    }

    fn memory(&mut self, memory: &MemoryType, offset: usize) -> Result<(), Fault> {
        let page = 1_u64 << memory.page_size_log2.unwrap_or(16).min(16);
        self.add(Counted::MemoryBytes, memory.initial.saturating_mul(page), offset)
    }

    fn name(&mut self, name: &str, offset: usize) -> Result<(), Fault> {
        within(Counted::NameBytes, name.len() as u64, offset)?;
        self.add(Counted::AllNameBytes, name.len() as u64, offset)
    }

    fn body(&mut self, body: &FunctionBody<'_>) -> Result<(), Fault> {
        let offset = body.range().start;
        within(Counted::FunctionBytes, body.range().len() as u64, offset)?;
        let mut locals = 0_u64;
        for local in body.get_locals_reader()? {
            locals = locals.saturating_add(local?.0.into());
        }
        within(Counted::FunctionLocals, locals, offset)?;
        self.add(Counted::AllLocals, locals, offset)?;
        within(Counted::Crossings, self.crossings.measure(body)?, offset)
    }

    /// Something is compared with its type, which may be any of those so far.
    fn compare_types(&mut self, offset: usize) -> Result<(), Fault> {
        let bytes = self.totals.get(Counted::TypeBytes as usize).copied().unwrap_or_default();
        self.add(Counted::Comparisons, bytes, offset)
    }

    /// Adds instances to the component that is open.
    fn unfold(&mut self, more: u64, offset: usize) -> Result<(), Fault> {
        let Some(Scope { instances: Some(instances) }) = self.open.last_mut() else { return Ok(()) };
        *instances = instances.saturating_add(more);
        within(Counted::UnfoldedInstances, *instances, offset)
    }

    /// Adds as many as a section claims to have.
    fn all<T>(&mut self, counted: Counted, section: &SectionLimited<'_, T>) -> Result<(), Fault> {
        self.add(counted, section.count().into(), section.range().start)
    }

    fn all_at_top<T>(&mut self, counted: Counted, section: &SectionLimited<'_, T>) -> Result<(), Fault> {
        if self.depth() == 1 { self.all(counted, section) } else { Ok(()) }
    }

    /// Adds to a number of the whole file.
    pub(super) fn add(&mut self, counted: Counted, more: u64, offset: usize) -> Result<(), Fault> {
        let Some(total) = self.totals.get_mut(counted as usize) else { return Ok(()) };
        *total = total.saturating_add(more);
        within(counted, *total, offset)
    }
}

/// Compares one number with its bound.
pub(super) fn within(counted: Counted, found: u64, offset: usize) -> Result<(), Fault> {
    if found > counted.bound().limit { Err(Fault::TooMany { counted, found, offset }) } else { Ok(()) }
}
