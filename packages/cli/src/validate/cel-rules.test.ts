import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { type Finished, runXfn } from "../../testing/run-xfn.ts";

let dir: string;

beforeAll(() => {
  dir = temporaryFolder();
});

function definition(spec: string): string {
  return `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xthings.example.org}
spec:
  group: example.org
  names: {kind: XThing, plural: xthings}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
${spec.replaceAll(/^/gm, "            ")}
`;
}

async function validate(spec: string, ...objects: string[]): Promise<Finished & { errors: string[] }> {
  const write = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  const resources = objects.map(
    (one, index) => `apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: x${index}}\nspec: ${one}\n`,
  );
  const result = await runXfn([
    "validate",
    write("xrd.yaml", definition(spec)),
    write("xrs.yaml", resources.join("---\n")),
  ]);
  return { ...result, errors: result.stdout.split("\n").filter((line) => line.startsWith("[x]")) };
}

describe("CEL rules that public definitions use", () => {
  test("has() of an index", async () => {
    const spec = `type: object
properties:
  matches: {type: array, maxItems: 4, items: {type: object, properties: {path: {type: string, maxLength: 20}}}}
x-kubernetes-validations:
- rule: "!has(self.matches) || self.matches.size() != 1 || has(self.matches[0].path)"
  message: the only match needs a path`;
    expect((await validate(spec, "{matches: [{path: a}]}")).code).toBe(0);
    const { code, errors } = await validate(spec, "{matches: [{}]}");
    expect(code).toBe(1);
    expect(errors).toEqual([expect.stringMatching(/x0 : spec: .*the only match needs a path/)]);
  });

  const LIBRARIES = `type: object
properties:
  name:
    type: string
    maxLength: 64
    x-kubernetes-validations: [{rule: "!format.dns1123Label().validate(self).hasValue()", message: no label}]
  version:
    type: string
    maxLength: 64
    x-kubernetes-validations: [{rule: "semver(self).isGreaterThan(semver('1.2.3'))", message: too old}]
  zones:
    type: array
    maxItems: 5
    items: {type: string, maxLength: 10}
    x-kubernetes-validations:
    - {rule: "sets.contains(['a', 'b'], self)", message: unknown zone}
    - {rule: "self.all(i, v, i < 2)", message: too many}
  text:
    type: string
    maxLength: 64
    x-kubernetes-validations: [{rule: "'%s-%d'.format([self, 1]) == 'a-1'", message: not a}]`;

  test("the libraries of Kubernetes 1.30 to 1.34", async () => {
    expect((await validate(LIBRARIES, "{name: ab, version: 1.10.0, zones: [a], text: a}")).code).toBe(0);
    const { code, errors } = await validate(LIBRARIES, "{name: A_b, version: 1.2.0, zones: [a, c, b], text: b}");
    expect(code).toBe(1);
    for (const message of ["no label", "too old", "unknown zone", "too many", "not a"]) {
      expect(errors.filter((error) => error.includes(`: ${message} (`))).toHaveLength(1);
    }
    expect(errors).toHaveLength(5);
  });

  test("a rule that does not compile is an error, and the other rules still apply", async () => {
    const { errors } = await validate(
      `${LIBRARIES}\nx-kubernetes-validations: [{rule: "self.nmae == 'a'"}]`,
      "{name: A_b}",
    );
    expect(errors).toEqual([
      expect.stringMatching(/undefined field 'nmae'; did you mean name\?/),
      expect.stringMatching(/x0 : spec\.name: .*no label/),
    ]);
  });
});

describe("invalid for an API server", () => {
  test.each([
    [
      "a rule beyond the cost budget",
      "type: object\nproperties: {l: {type: array, items: {type: string}}}",
      "self.l.all(a, self.l.all(b, a == b))",
      /rule: its estimated cost exceeds the budget/,
    ],
    [
      "cel.bind",
      "type: object\nproperties: {l: {type: integer}}",
      "cel.bind(x, self.l, x > 1)",
      /is not valid CEL: undeclared reference/,
    ],
    [
      "a type that does not fit",
      "type: object\nproperties: {l: {type: integer}}",
      "self.l == 'a'",
      /no matching overload for '_==_'/,
    ],
  ])("%s", async (_, spec, rule, message) => {
    const { code, errors } = await validate(`${spec}\nx-kubernetes-validations: [{rule: "${rule}"}]`, "{}");
    expect(code).toBe(1);
    expect(errors).toEqual(expect.arrayContaining([expect.stringMatching(message)]));
  });

  test("a default that fails a rule", async () => {
    const spec = (fallback: string): string => `type: object
properties:
  limits:
    type: object
    default: ${fallback}
    properties: {min: {type: integer}, max: {type: integer}}
    x-kubernetes-validations: [{rule: "self.min < self.max"}]`;
    const { code, errors } = await validate(spec("{}"), "{limits: {min: 1, max: 2}}");
    expect(code).toBe(1);
    expect(errors).toEqual([
      expect.stringMatching(/limits\.default: is not valid for its own rules: no such key: min/),
    ]);
    expect((await validate(spec("{min: 1, max: 2}"), "{}")).code).toBe(0);
  });
});
