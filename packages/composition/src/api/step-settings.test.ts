import { readDocuments } from "@xfn/json/document";
import { describe, expect, test } from "vitest";
import { checkSpec, HEAD } from "../../testing/check-spec.ts";
import type { Finding } from "../reader/composition-error.ts";
import { checkComposition } from "./parse-composition.ts";

const SETTINGS = `{timeout: 1m, retries: 3, when: '"db" in desired.resources', schema: Strict}`;
const NORMAL = { timeoutMs: 60_000, retries: 3, when: '"db" in desired.resources', schema: "Strict" };

/** A function of each type, and a package, with settings in YAML's flow style. */
function stepsWith(settings: string): string {
  const inner = settings.slice(1, -1);
  return `
mode: Pipeline
pipeline:
- {step: container, container: {image: f}, ${inner}}
- {step: chroot, type: Chroot, container: {image: f, network: Accessible}, ${inner}}
- {step: krm, container: {image: f}, io: KRM, ${inner}}
- {step: wasm, wasm: {image: f}, ${inner}}
- {step: webhook, webhook: {url: "https://f.example.org"}, ${inner}}
- {step: function, functionRef: {name: f}, ${inner}}
- {step: package, functionRef: {package: example.org/f:v1}, ${inner}}
`;
}

function findingsOf(spec: string): readonly Finding[] {
  const [document] = readDocuments(`${HEAD}${spec.replace(/^/gm, "  ")}\n`);
  if (document === undefined) throw new Error("no document");
  return checkComposition(document).findings;
}

describe("settings of steps", () => {
  test("are read in steps of all kinds of mode: Pipeline", () => {
    const { spec, errors, warnings } = checkSpec(stepsWith(SETTINGS));
    expect([...errors, ...warnings]).toEqual([]);
    expect(spec?.pipeline).toHaveLength(7);
    for (const step of spec?.pipeline ?? []) expect(step).toMatchObject(NORMAL);
  });

  test("are read in functions, and null counts as absent", () => {
    const { spec, errors, warnings } = checkSpec(`
functions:
- {name: a, type: Container, container: {image: f}, timeout: 1m, retries: 3, when: '"db" in desired.resources', schema: Strict}
- {name: b, type: Webhook, webhook: {url: "https://f.example.org"}, timeout: null, retries: null, when: null, schema: null}
`);
    expect([...errors, ...warnings]).toEqual([]);
    expect(spec?.functions[0]).toMatchObject(NORMAL);
    expect(spec?.functions[1]).toEqual({ name: "b", type: "Webhook", webhook: { url: "https://f.example.org" } });
  });

  test("the timeout of a step is that of its function, unless the function has its own", () => {
    const { spec } = checkSpec(`
functions:
- {name: a, type: Container, timeout: 1m, container: {image: f}}
- {name: b, type: Wasm, timeout: 1m, wasm: {image: f, timeout: 5s}}
- {name: c, type: Webhook, timeout: 1m, webhook: {url: "https://f.example.org"}}
`);
    expect(spec?.functions).toMatchObject([
      { timeoutMs: 60_000, container: { timeoutMs: 60_000 } },
      { timeoutMs: 60_000, container: { timeoutMs: 5_000 } },
      { timeoutMs: 60_000, webhook: { timeoutMs: 60_000 } },
    ]);
  });

  test.each([
    ["{timeout: 0s}", "timeout", /more than zero/],
    ["{timeout: 10 seconds}", "timeout", /duration|unit|10 seconds/],
    ["{timeout: 597h}", "timeout", /longer than the 596h/],
    ["{timeout: 30}", "timeout", /expected a duration such as 30s, found a number/],
    ["{retries: -1}", "retries", /between 0 and 10/],
    ["{retries: 11}", "retries", /between 0 and 10/],
    ["{retries: 1.5}", "retries", /expected an integer/],
    ['{retries: "2"}', "retries", /expected an integer/],
    ["{schema: Loose}", "schema", /"Loose" is not one of Strict/],
    ["{schema: true}", "schema", /expected a string/],
    ["{when: true}", "when", /expected a string, found a boolean; quote it|expected a string, found true/],
    ["{when: ' '}", "when", /is empty; leave it out/],
    ["{when: 'observed.composite.'}", "when", /is not valid CEL/],
    [
      "{when: 'observed.composit.resource.spec.size > 3'}",
      "when",
      /undefined field 'composit'; did you mean composite\?/,
    ],
    ["{when: 'observed.composite.spec.size > 3'}", "when", /undefined field 'spec'/],
    ["{when: 'observed.resources[\"db\"].spec == 1'}", "when", /undefined field 'spec'/],
    ["{when: 'xr.spec.size > 3'}", "when", /is not valid CEL: undeclared reference to 'xr'/],
    ["{when: 'self.spec.size > 3'}", "when", /is not valid CEL: undeclared reference to 'self'/],
    ["{when: 'size(observed.resources)'}", "when", /must evaluate to a bool, not to a int/],
    ["{when: 'now() > 3'}", "when", /is not valid CEL/],
  ])("%s is an error at its place in every kind of step", (settings, field, message) => {
    const errors = findingsOf(stepsWith(settings));
    expect(errors).toHaveLength(7);
    for (const [index, error] of errors.entries()) {
      expect(error).toMatchObject({ severity: "error", path: `spec.pipeline[${index}].${field}`, line: 9 + index });
      expect(error.message).toMatch(message);
    }
  });

  test("a guard that is too long, too deep or too large is an error", () => {
    const wrong = [`true ${"|| true ".repeat(1000)}`, `${"(".repeat(300)}true${")".repeat(300)}`];
    for (const when of wrong) {
      const errors = findingsOf(`
functions:
- {name: a, type: Container, container: {image: f}, when: "${when}"}
`);
      expect(errors.map(({ path }) => path)).toEqual(["spec.functions[0].when"]);
    }
  });
});
