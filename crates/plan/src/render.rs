//! The plan as tables: one block per segment.

use std::fmt;

use crate::plan::{Plan, Segment};

/// Addresses are listed up to this many per segment.
const MOST_ADDRESSES: usize = 64;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.segments.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            segment.fmt(f)?;
        }
        virtual_addresses(f, self)
    }
}

/// Who would get which virtual address, and who none.
fn virtual_addresses(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    if !plan.virtual_addresses.is_empty() {
        f.write_str("\nvirtual addresses\n")?;
        let mut rows = vec![["ADDRESS", "POOL", "SHARING KEY", "SERVICES"].map(str::to_owned)];
        for found in &plan.virtual_addresses {
            let mut first = [
                found.address.to_string(),
                found.pool.clone(),
                found.sharing_key.clone().unwrap_or_default(),
            ];
            for service in &found.services {
                let [address, pool, key] = std::mem::take(&mut first);
                let service = format!("{}  {}", service.service, service.ports.join(", "));
                rows.push([address, pool, key, service]);
            }
        }
        table(f, &rows, &[])?;
    }
    if !plan.pending.is_empty() {
        f.write_str("\nwithout a virtual address\n")?;
        let mut rows = vec![["SERVICE", "PORTS", "WHY"].map(str::to_owned)];
        rows.extend(plan.pending.iter().map(|pending| {
            [pending.service.clone(), pending.ports.join(", "), pending.why.clone()]
        }));
        table(f, &rows, &[])?;
    }
    Ok(())
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(vlan) = self.vlan {
            write!(f, "  VLAN {vlan}")?;
        }
        if !self.interfaces.is_empty() {
            write!(f, "  on {}", self.interfaces.join(", "))?;
        }
        if let Some(mtu) = self.mtu {
            write!(f, "  MTU {mtu}")?;
        }
        f.write_str("\n")?;
        for subnet in &self.subnets {
            write!(f, "  {}", subnet.cidr)?;
            if let Some(gateway) = subnet.gateway {
                write!(f, "  gateway {gateway}")?;
            }
            writeln!(f, "  {} addresses left over", subnet.unowned_size.0)?;
        }
        if !self.ranges.is_empty() {
            let mut rows = vec![["OWNER", "RANGE", "SIZE", "TAKEN", "FREE"].map(str::to_owned)];
            rows.extend(self.ranges.iter().map(|handed| {
                let mut owner = handed.owner.clone();
                if !handed.shared_with.is_empty() {
                    owner = format!("{owner} and {} more", handed.shared_with.len());
                }
                let [size, taken, free] =
                    [handed.size, handed.taken, handed.free].map(|size| size.0.to_string());
                [owner, handed.range.clone(), size, taken, free]
            }));
            table(f, &rows, &[2, 3, 4])?;
        }
        if !self.addresses.is_empty() {
            let mut rows = vec![["ADDRESS", "ROLE", "HOLDER"].map(str::to_owned)];
            rows.extend(self.addresses.iter().take(MOST_ADDRESSES).map(|taken| {
                [taken.address.to_string(), taken.role.to_owned(), taken.holder.clone()]
            }));
            table(f, &rows, &[])?;
            if let Some(more) = self.addresses.len().checked_sub(MOST_ADDRESSES).filter(|n| *n > 0)
            {
                writeln!(f, "    … and {more} more")?;
            }
        }
        Ok(())
    }
}

/// Columns as wide as their widest cell; those in `right` are numbers.
fn table<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    rows: &[[String; N]],
    right: &[usize],
) -> fmt::Result {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            let cell = if right.contains(&column) { pad + cell } else { cell.clone() + &pad };
            line.push_str("  ");
            line.push_str(&cell);
        }
        writeln!(f, "  {}", line.trim_end())?;
    }
    Ok(())
}
