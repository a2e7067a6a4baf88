//! Tables of expressions with their values and their errors.

use crate::example_server::arithmetic::calculate;

#[test]
fn expressions_have_the_value_that_school_gives_them() {
    let table = [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("10 - 4 - 3", 3.0),
        ("100 / 10 / 5", 2.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("2 ** 3", 8.0),
        ("-2 ^ 2", -4.0),
        ("(-2) ^ 2", 4.0),
        ("2 ^ -1", 0.5),
        ("--3", 3.0),
        ("2 * -3", -6.0),
        ("7 % 4", 3.0),
        ("1.5e3 + .5", 1500.5),
        ("2 × 3 ÷ 4 − 1", 0.5),
        ("sqrt(16) + abs(-2)", 6.0),
        ("max(1, min(5, 3), 2)", 3.0),
        ("round(2.34567, 2)", 2.35),
        ("ROUND(2.5)", 3.0),
        ("mod(-1, 3)", 2.0),
        ("floor(-1.5) + ceil(1.2)", 0.0),
        ("ln(e) + log10(1000) + log2(8)", 7.0),
        ("cos(pi)", -1.0),
        ("2e", 2.0),
    ];
    let (juxtaposed, valid) = table.split_last().unwrap();
    for (expression, value) in valid {
        let result = calculate(expression).unwrap();
        assert!((result - value).abs() < 1e-12, "{expression} = {result}");
    }
    assert!(calculate(juxtaposed.0).is_err(), "two values side by side are no product");
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let table = [
        ("", "expected a number, a name or `(` at position 1, found the end"),
        ("1 + ", "expected a number, a name or `(` at position 5, found the end"),
        ("(1 + 2", "expected `)` at position 7, found the end"),
        ("1 2", "expected an operator or the end at position 3, found `2`"),
        ("1 + 2)", "expected an operator or the end at position 6, found `)`"),
        ("2 $ 3", "`$` at position 3 has no meaning in an expression"),
        ("1.2.3", "`1.2.3` at position 1 is not a number"),
        ("1 / (2 - 2)", "division by zero at position 3"),
        ("5 % 0", "division by zero at position 3"),
        ("2 + frob(1)", "there is no function or constant `frob` (position 5)"),
        ("x", "there is no function or constant `x` (position 1)"),
        ("sqrt 4", "expected `(` after the name of a function at position 6, found `4`"),
        ("sqrt(1, 2)", "`sqrt` at position 1 takes one value, not 2"),
        ("pow(2)", "`pow` at position 1 takes two values, not 1"),
        ("max()", "`max` at position 1 takes at least one value, not 0"),
        ("1 + sqrt(-1)", "`sqrt` at position 5 has no finite value here"),
        ("10 ^ 400", "`^` at position 4 has no finite value here"),
    ];
    for (expression, message) in table {
        assert_eq!(calculate(expression).unwrap_err().to_string(), message, "{expression}");
    }
}

#[test]
fn long_and_deep_expressions_are_refused_without_exhausting_the_stack() {
    assert!(calculate(&"(".repeat(1999)).unwrap_err().to_string().contains("nested too deeply"));
    assert!(calculate(&"-".repeat(1999)).unwrap_err().to_string().contains("nested too deeply"));
    assert!(calculate(&"1+".repeat(2000)).unwrap_err().to_string().contains("longer"));
}
