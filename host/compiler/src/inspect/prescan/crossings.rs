//! How many branches the values of a function are carried over: what makes a compiler's tables large.
//!
//! A compiler keeps, for each variable, a value in each block between the place that writes it and the place that reads
//! it. Here a block is what lies between two control instructions, and a read costs as many as lie between
//! it and the last time the variable was touched. Real code touches a variable soon after it was written, or often;
//! code that is made to hurt writes thousands, branches thousands of times, and reads them all. Loops are
//! counted as if they ran once, so this is no upper bound: what passes is still compiled under limits.

use wasmparser::{FunctionBody, Operator, Result};

/// Variables that are looked at; the validator refuses functions that have more.
const MAX_VARIABLES: usize = 51_000;

/// Where each variable was touched last; kept from function to function, so that a small function costs little.
#[derive(Debug, Default)]
pub(super) struct Crossings {
    function: u32,
    touched: Vec<Touched>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Touched {
    function: u32,
    block: u32,
}

impl Crossings {
    /// The sum over all reads of a function.
    pub(super) fn measure(&mut self, body: &FunctionBody<'_>) -> Result<u64> {
        self.function += 1;
        let mut block = 0_u32;
        let mut crossings = 0_u64;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            match operators.read()? {
                Operator::LocalGet { local_index } => {
                    crossings += u64::from(block - self.touch(local_index, block));
                }
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                    self.touch(local_index, block);
                }
                Operator::Block { .. }
                | Operator::Loop { .. }
                | Operator::If { .. }
                | Operator::Else
                | Operator::End
                | Operator::BrIf { .. }
                | Operator::BrTable { .. } => block += 1,
                _ => {}
            }
        }
        Ok(crossings)
    }

    /// The block in which the variable was touched before; arguments and zeros come with the first block.
    fn touch(&mut self, variable: u32, block: u32) -> u32 {
        let Ok(variable) = usize::try_from(variable) else { return block };
        if variable >= MAX_VARIABLES {
            return block;
        }
        if variable >= self.touched.len() {
            self.touched.resize(variable + 1, Touched::default());
        }
        let Some(place) = self.touched.get_mut(variable) else { return block };
        let before = if place.function == self.function { place.block } else { 0 };
        *place = Touched { function: self.function, block };
        before
    }
}
