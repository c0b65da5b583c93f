//! What the answer has to be, computed from the CSV text without any tool.

use std::collections::BTreeMap;

/// The columns that are needed, by name.
const COLUMNS: [&str; 5] = ["date", "region", "product", "quantity", "unit_price"];

/// First and last day of the question.
const QUARTER: (&str, &str) = ("2026-07-01", "2026-09-30");

/// The figures of one quarter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ledger {
    /// Revenue of all orders.
    pub(super) revenue: String,
    /// How many orders there are.
    pub(super) orders: usize,
    /// The region with the most revenue, and that.
    pub(super) region: (String, String),
    /// The product with the most revenue, and that.
    pub(super) product: (String, String),
}

impl Ledger {
    /// Reads the text and adds up.
    ///
    /// # Errors
    /// The line that cannot be read, or the column that is missing.
    pub(super) fn read(csv: &str) -> Result<Self, String> {
        let mut rows = csv.lines().zip(1_usize..).filter(|(line, _)| !line.trim().is_empty());
        let header = rows.next().map(|(line, _)| fields(line)).unwrap_or_default();
        let mut places = [0; COLUMNS.len()];
        for (place, name) in places.iter_mut().zip(COLUMNS) {
            *place = header.iter().position(|column| column == name).ok_or_else(|| {
                format!("the first line names no column `{name}`; expected {}", COLUMNS.join(", "))
            })?;
        }
        let (mut all, mut orders) = (0, 0);
        let (mut regions, mut products) = (BTreeMap::new(), BTreeMap::new());
        for (line, number) in rows {
            let fields = fields(line);
            let [date, region, product, quantity, price] =
                places.map(|place| fields.get(place).map_or("", String::as_str));
            if date < QUARTER.0 || date > QUARTER.1 {
                continue;
            }
            let wrong =
                |what: &str, found: &str| format!("line {number}: {what} `{found}` is no plain number");
            let revenue = cents(quantity)
                .ok_or_else(|| wrong("quantity", quantity))?
                .checked_mul(cents(price).ok_or_else(|| wrong("unit_price", price))?)
                .ok_or_else(|| wrong("the product of", line))?;
            all += revenue;
            orders += 1;
            *regions.entry(region.to_owned()).or_insert(0) += revenue;
            *products.entry(product.to_owned()).or_insert(0) += revenue;
        }
        let none = || format!("no order lies between {} and {}", QUARTER.0, QUARTER.1);
        Ok(Self {
            revenue: decimal(all),
            orders,
            region: best(regions).ok_or_else(none)?,
            product: best(products).ok_or_else(none)?,
        })
    }

    /// The figures a right answer holds, in words for whoever misses one.
    pub(super) fn figures(&self) -> [(&'static str, &str); 5] {
        [
            ("the revenue", &self.revenue),
            ("the best region", &self.region.0),
            ("the revenue of the best region", &self.region.1),
            ("the best product", &self.product.0),
            ("the revenue of the best product", &self.product.1),
        ]
    }
}

/// The fields of one line; a quoted field may hold commas and doubled quotes, and no line break.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.trim_end_matches('\r').chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('"', true) if chars.peek() == Some(&'"') => field.extend(chars.next()),
            ('"', _) => quoted = !quoted,
            (',', false) => fields.push(std::mem::take(&mut field)),
            _ => field.push(c),
        }
    }
    fields.push(field);
    fields
}

/// A decimal with at most two places, in hundredths.
fn cents(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 2 || !digits(whole) || !digits(part) {
        return None;
    }
    format!("{whole}{part:0<2}").parse().ok()
}

/// Ten-thousandths as a decimal without zeros at its end.
fn decimal(number: i64) -> String {
    let text = format!("{}.{:04}", number / 10_000, number % 10_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The entry with the most; of several, the one whose name comes first.
fn best(sums: BTreeMap<String, i64>) -> Option<(String, String)> {
    let most = sums.values().copied().max()?;
    sums.into_iter().find(|(_, sum)| *sum == most).map(|(name, sum)| (name, decimal(sum)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "id,date,region,product,quantity,unit_price\n";

    #[test]
    fn figures_are_exact_and_other_quarters_do_not_count() {
        let csv = format!(
            "{HEADER}1,2026-06-30,North,\"A, big\",100,9.99\n2,2026-07-01,South,\"A, big\",3,0.10\n\
             3,2026-09-30,North,B,1,0.25\n4,2026-10-01,North,B,9,9\n"
        );
        let expected = Ledger {
            revenue: "0.55".into(),
            orders: 2,
            region: ("South".into(), "0.3".into()),
            product: ("A, big".into(), "0.3".into()),
        };
        assert_eq!(Ledger::read(&csv).unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert!(Ledger::read("a,b\n").unwrap_err().contains("`date`"));
        assert!(Ledger::read(&format!("{HEADER}1,2026-07-01,N,P,x,1\n")).unwrap_err().contains("line 2"));
        assert!(Ledger::read(HEADER).unwrap_err().contains("no order"));
    }

    #[test]
    fn quotes_keep_commas_together() {
        assert_eq!(fields("a,\"b, \"\"c\"\"\",,d\r"), ["a", "b, \"c\"", "", "d"]);
        assert_eq!(
            [cents("3"), cents("0.5"), cents("1.255"), cents("-1")],
            [Some(300), Some(50), None, None]
        );
        assert_eq!([decimal(10_000), decimal(12_340)], ["1", "1.234"]);
    }
}
