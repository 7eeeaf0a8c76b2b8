import { describe, expect, test } from "vitest";
import { type CheckedSpec, checkSpec } from "../../testing/check-spec.ts";

const at = "spec.resources[0].patches[0]";

function patch(text: string): CheckedSpec {
  return checkSpec(`environment: {}\nresources: [{name: a, base: {apiVersion: v1, kind: K}, patches: [${text}]}]`);
}

describe("patches", () => {
  test.each([
    "{fromFieldPath: a}",
    "{type: FromCompositeFieldPath, fromFieldPath: a, toFieldPath: 'b[*].c'}",
    "{fromFieldPath: 'a[99999999]', toFieldPath: 'b[1024]'}",
    "{type: ToCompositeFieldPath, fromFieldPath: a, policy: {fromFieldPath: Required, mergeOptions: {keepMapValues: true}}}",
    "{type: FromEnvironmentFieldPath, fromFieldPath: a}",
    "{type: ToEnvironmentFieldPath, fromFieldPath: a}",
    "{type: CombineFromComposite, toFieldPath: a, combine: {strategy: string, variables: [{fromFieldPath: b}], string: {fmt: '%s'}}}",
  ])("%s is valid", (text) => {
    expect(patch(text)).toMatchObject({ errors: [], warnings: [] });
  });

  test.each([
    ["{type: FromMoon}", "type: Invalid"],
    ["{type: 7}", "type: Invalid"],
    ["{}", "fromFieldPath: Required"],
    ["{type: ToCompositeFieldPath}", "fromFieldPath: Required"],
    ["{fromFieldPath: 7}", "fromFieldPath: Invalid"],
    ["{type: PatchSet}", "patchSetName: Required"],
    ["{type: CombineFromComposite, toFieldPath: a}", "combine: Required"],
    ["{type: CombineToComposite, combine: {strategy: string, variables: []}}", "toFieldPath: Required"],
    ["{type: CombineToComposite, toFieldPath: a, combine: {strategy: sum}}", "combine.strategy: Invalid"],
    ["{fromFieldPath: a, policy: {fromFieldPath: Maybe}}", "policy.fromFieldPath: Invalid"],
    ["{fromFieldPath: a, policy: {mergeOptions: {appendSlice: 1}}}", "policy.mergeOptions.appendSlice: Invalid"],
  ])("%s is rejected", (text, expected) => {
    expect(patch(text).errors).toEqual([`${at}.${expected}`]);
  });

  test.each([
    ["{fromFieldPath: a..b}", ["fromFieldPath: Invalid"]],
    ["{fromFieldPath: a, toFieldPath: 'a['}", ["toFieldPath: Invalid"]],
    ["{fromFieldPath: a, toFieldPath: 'b[99999999]'}", ["toFieldPath: Invalid"]],
    ["{fromFieldPath: 'a[*].b', toFieldPath: 'a[*]'}", ["fromFieldPath: Invalid"]],
    [
      "{type: CombineFromComposite, toFieldPath: 'a[*]', combine: {strategy: string, variables: [{fromFieldPath: 'b[*]'}], string: {fmt: x}}}",
      ["toFieldPath: Invalid", "combine.variables[0].fromFieldPath: Invalid"],
    ],
    ["{fromFieldPath: a, transfroms: []}", ["transfroms: Unknown"]],
    [
      "{type: CombineFromComposite, toFieldPath: a, combine: {}}",
      ["combine.strategy: Required", "combine.variables: Required", "combine.string: Required"],
    ],
    [
      "{type: CombineFromComposite, toFieldPath: a, combine: {strategy: string, variables: [{}, {fromFieldPath: ''}], string: {}}}",
      [
        "combine.variables[0].fromFieldPath: Required",
        "combine.variables[1].fromFieldPath: Required",
        "combine.string.fmt: Required",
      ],
    ],
    ["{fromFieldPath: a, toFieldPath: null}", ["toFieldPath: Required"]],
  ])("%s is valid in Crossplane, but fails or misleads at run time: a warning", (text, expected) => {
    expect(patch(text)).toMatchObject({ errors: [], warnings: expected.map((one) => `${at}.${one}`) });
  });

  test("from or to a missing environment are warnings", () => {
    const text = "{type: FromEnvironmentFieldPath, fromFieldPath: a}";
    const resources = `resources: [{name: a, base: {apiVersion: v1, kind: K}, patches: [${text}]}]`;
    expect(checkSpec(resources)).toMatchObject({ errors: [], warnings: [`${at}.type: Ignored`] });
  });

  test("every wrong patch is reported, even in patch sets", () => {
    const { errors } = checkSpec(`
patchSets:
- name: p
  patches: [{}, {type: PatchSet, patchSetName: p}]
resources:
- name: a
  base: {apiVersion: v1, kind: K}
  patches: [{}, {fromFieldPath: a}, {type: PatchSet}]
`);
    expect(errors).toEqual([
      "spec.patchSets[0].patches[0].fromFieldPath: Required",
      "spec.patchSets[0].patches[1].type: Invalid",
      "spec.resources[0].patches[0].fromFieldPath: Required",
      "spec.resources[0].patches[2].patchSetName: Required",
    ]);
  });
});

describe("transforms", () => {
  const transform = (text: string): CheckedSpec => patch(`{fromFieldPath: a, transforms: [${text}]}`);

  test.each([
    "{type: map, map: {a: b, c: [1]}}",
    "{type: match, match: {patterns: [{type: literal, literal: a, result: 1}, {type: regexp, regexp: '^a', result: null}], fallbackTo: Input}}",
    "{type: math, math: {multiply: 1024}}",
    "{type: math, math: {type: ClampMax, clampMax: 9223372036854775807}}",
    "{type: string, string: {fmt: '%s-x'}}",
    "{type: string, string: {type: Convert, convert: ToSha256}}",
    "{type: string, string: {type: TrimPrefix, trim: ''}}",
    "{type: string, string: {type: Regexp, regexp: {match: '(a)', group: 1}}}",
    "{type: string, string: {type: Join, join: {separator: ','}}}",
    "{type: string, string: {type: Replace, replace: {search: a, replace: ''}}}",
    "{type: convert, convert: {toType: int64}}",
    "{type: convert, convert: {toType: float64, format: quantity}}",
    "{type: convert, convert: {toType: object, format: json}}",
  ])("%s is valid", (text) => {
    expect(transform(text)).toMatchObject({ errors: [], warnings: [] });
  });

  test.each([
    ["{}", "type: Required"],
    ["{type: magic}", "type: Invalid"],
    ["{type: map}", "map: Required"],
    ["{type: map, map: {}}", "map.pairs: Required"],
    ["{type: match}", "match: Required"],
    ["{type: match, match: {}}", "match.patterns: Required"],
    ["{type: match, match: {patterns: []}}", "match.patterns: Required"],
    ["{type: match, match: {patterns: [{result: 1}]}}", "match.patterns[0].literal: Required"],
    ["{type: match, match: {patterns: [{type: regexp, result: 1}]}}", "match.patterns[0].regexp: Required"],
    ["{type: match, match: {patterns: [{type: regexp, regexp: '(', result: 1}]}}", "match.patterns[0].regexp: Invalid"],
    ["{type: match, match: {patterns: [{type: glob, result: 1}]}}", "match.patterns[0].type: Invalid"],
    ["{type: match, match: {patterns: [{literal: a, result: 1}], fallbackTo: Moon}}", "match.fallbackTo: Invalid"],
    ["{type: math}", "math: Required"],
    ["{type: math, math: {}}", "math.multiply: Required"],
    ["{type: math, math: {multiply: 1.5}}", "math.multiply: Invalid"],
    ["{type: math, math: {type: ClampMin, multiply: 2}}", "math.clampMin: Required"],
    ["{type: math, math: {type: Divide}}", "math.type: Invalid"],
    ["{type: string}", "string: Required"],
    ["{type: string, string: {}}", "string.fmt: Required"],
    ["{type: string, string: {type: Convert}}", "string.convert: Required"],
    ["{type: string, string: {type: Convert, convert: ToMoon}}", "string.convert: Invalid"],
    ["{type: string, string: {type: TrimSuffix}}", "string.trim: Required"],
    ["{type: string, string: {type: Regexp}}", "string.regexp: Required"],
    ["{type: string, string: {type: Regexp, regexp: {}}}", "string.regexp.match: Required"],
    ["{type: string, string: {type: Regexp, regexp: {match: '(?=a)'}}}", "string.regexp.match: Invalid"],
    ["{type: string, string: {type: Join}}", "string.join: Required"],
    ["{type: string, string: {type: Replace}}", "string.replace: Required"],
    ["{type: string, string: {type: Replace, replace: {replace: a}}}", "string.replace.search: Required"],
    ["{type: string, string: {type: Split}}", "string.type: Invalid"],
    ["{type: convert}", "convert: Required"],
    ["{type: convert, convert: {}}", "convert.toType: Required"],
    ["{type: convert, convert: {toType: float32}}", "convert.toType: Invalid"],
    ["{type: convert, convert: {toType: string, format: json}}", "convert.format: Invalid"],
    ["{type: convert, convert: {toType: string, format: yaml}}", "convert.format: Invalid"],
  ])("%s is rejected", (text, expected) => {
    expect(transform(text).errors).toEqual([`${at}.transforms[0].${expected}`]);
  });

  test("a regexp beyond our bounds is only a warning, and groups may have the same name", () => {
    const match = (pattern: string): CheckedSpec =>
      transform(`{type: string, string: {type: Regexp, regexp: {match: '${pattern}'}}}`);
    expect(match("(a{900}){900}")).toMatchObject({
      errors: [],
      warnings: [`${at}.transforms[0].string.regexp.match: Invalid`],
    });
    expect(match("(?P<a>x)(?P<a>y)")).toMatchObject({ errors: [], warnings: [] });
  });

  test("all problems of a patch and its transforms are reported", () => {
    const wrong = "{type: map}, {type: match, match: {patterns: [{}, {type: regexp}], fallbackTo: Moon}}";
    const text = `{policy: {fromFieldPath: Maybe}, transforms: [{type: math, math: {multiply: 2}}, ${wrong}]}`;
    expect(patch(text).errors).toEqual([
      `${at}.fromFieldPath: Required`,
      `${at}.policy.fromFieldPath: Invalid`,
      `${at}.transforms[1].map: Required`,
      `${at}.transforms[2].match.patterns[0].literal: Required`,
      `${at}.transforms[2].match.patterns[1].regexp: Required`,
      `${at}.transforms[2].match.fallbackTo: Invalid`,
    ]);
  });

  test("a fallback that always fails is a warning", () => {
    const match = "{patterns: [{literal: a, result: 1}], fallbackTo: Input, fallbackValue: x}";
    expect(transform(`{type: match, match: ${match}}`)).toMatchObject({
      errors: [],
      warnings: [`${at}.transforms[0].match.fallbackValue: Invalid`],
    });
  });
});
