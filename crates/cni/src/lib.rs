//! CNI as values: configurations, results, errors, network annotations, whereabouts records.
