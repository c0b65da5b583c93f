//! How deep the types of a component are nested, counted before anything reads them.
//!
//! The parser reads a component type that declares a component type by calling itself, so a few hundred kilobytes
//! of declarations use up any stack and end the process. Here the nesting is walked with a stack of
//! numbers instead, and everything inside that cannot nest is left to the parser.

use wasmparser::{BinaryReader, ComponentType, ComponentTypeDeclaration, Result, WasmFeatures};

use super::bounds::Counted;
use super::prescan::{Prescan, within};
use super::walk::Fault;

/// The bytes that begin a component type and an instance type; no other type holds declarations of types.
const NESTING: [u8; 2] = [0x41, 0x42];
/// The byte in front of a type among declarations.
const DECLARES_TYPE: u8 = 0x01;

/// Checks one section of types, given its content, and counts what is declared in them.
pub(super) fn check(
    section: &[u8],
    offset: usize,
    features: WasmFeatures,
    scan: &mut Prescan,
) -> Result<(), Fault> {
    let mut reader = BinaryReader::new_features(section, offset, features);
    let mut types = reader.read_var_u32()?;
    while types > 0 {
        types -= 1;
        if enters(&reader) {
            reader.read_u8()?;
            check_declarations(&mut reader, scan)?;
        } else {
            reader.read::<ComponentType<'_>>()?;
        }
    }
    Ok(())
}

/// Reads the declarations of one component or instance type, and of all that are nested in it.
fn check_declarations(reader: &mut BinaryReader<'_>, scan: &mut Prescan) -> Result<(), Fault> {
    let mut open = vec![declarations(reader, scan)?];
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        let mut ahead = reader.clone();
        if ahead.read_u8()? == DECLARES_TYPE && enters(&ahead) {
            ahead.read_u8()?;
            *reader = ahead;
            open.push(declarations(reader, scan)?);
            within(Counted::TypeDepth, open.len() as u64, reader.original_position())?;
        } else {
            reader.read::<ComponentTypeDeclaration<'_>>()?;
        }
    }
    Ok(())
}

/// How many declarations follow; each counts as a type.
fn declarations(reader: &mut BinaryReader<'_>, scan: &mut Prescan) -> Result<u32, Fault> {
    let count = reader.read_var_u32()?;
    scan.add(Counted::Types, count.into(), reader.original_position())?;
    Ok(count)
}

fn enters(reader: &BinaryReader<'_>) -> bool {
    reader.clone().read_u8().is_ok_and(|byte| NESTING.contains(&byte))
}
