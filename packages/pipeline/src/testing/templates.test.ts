import { stripVTControlCharacters } from "node:util";
import { compose } from "@xfn/functionio/sdk";
import { expect, test } from "vitest";
import { originOf } from "../trace/index.ts";
import { converge, type Rendering, render } from "./index.ts";

// Compositions with templates, definitions and environments, as users test them.

const XR = { apiVersion: "example.org/v1", kind: "XStore", metadata: { name: "shop" }, spec: { size: 3 } };
const READY = { conditions: [{ type: "Ready", status: "True" }] };

function composition(resources: string, rest = ""): string {
  return `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: stores }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XStore }
  resources: ${resources}
${rest}`;
}

const BUCKET = `
  - name: bucket
    base: { apiVersion: s3.example.org/v1, kind: Bucket }
    patches: [{ fromFieldPath: spec.size, toFieldPath: spec.size }]
    readinessChecks: [{ type: MatchString, fieldPath: status.state, matchString: Up }]
  - name: policy
    base: { apiVersion: v1, kind: ConfigMap }
    patches: [{ fromFieldPath: spec.policy, toFieldPath: data.policy, policy: { fromFieldPath: Required } }]
`;

const DEFINITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: { name: xstores.example.org }
spec:
  group: example.org
  names: { kind: XStore, plural: xstores }
  connectionSecretKeys: [url]
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: { type: integer }
              policy: { type: string, default: private }
`;

function messageOf(assert: () => void): string {
  try {
    assert();
  } catch (error) {
    return stripVTControlCharacters((error as Error).message);
  }
  throw new Error("the assertion holds");
}

test("a Composition of templates needs neither functions nor a runner", async () => {
  const result = await render({ composite: XR, composition: composition(BUCKET), definition: DEFINITION });
  expect(result).toComposeResource("bucket", { spec: { size: 3 } });
  expect(result).toComposeResource("policy", { data: { policy: "private" } });
});

test("differing fields are reported with their origin", async () => {
  const rest = "  functions: [{ name: tag, type: Container, container: { image: tag } }]";
  const tag = compose(({ desired }) => desired.patch("bucket", { spec: { tags: ["a", "b"] } }));
  const result = await render({ composite: XR, composition: composition(BUCKET, rest), functions: { tag } });
  const fields = { kind: "Disk", spec: { size: 4, tags: ["b"], zone: "eu" }, metadata: { labels: { team: "a" } } };
  expect(messageOf(() => expect(result).toComposeResource("bucket", fields))).toMatchInlineSnapshot(`
    "the entry "bucket" (Bucket shop-*) does not have the expected fields

    - Expected
    + Received

      {
    -   "kind": "Disk",
    +   "kind": "Bucket",
        "metadata": {
    -     "labels": {
    -       "team": "a",
    -     },
    +     "labels": {},
        },
        "spec": {
    -     "size": 4,
    +     "size": 3,
          "tags": [
    +       "a",
            "b",
          ],
    -     "zone": "eu",
        },
      }
    Who set what:
      kind: template bucket, spec.resources[0].base
      spec.size: template bucket, spec.resources[0].patches[0] (FromCompositeFieldPath spec.size)
      spec.tags: step tag"
  `);
  expect(originOf(result.trace, "bucket", "spec.size")).toMatchObject([
    { origin: { template: "bucket", source: "spec.resources[0].patches[0]" } },
  ]);
});

test("a failed template is reported by toComposeResource and by toBeReady", async () => {
  const bucket = { apiVersion: "s3.example.org/v1", kind: "Bucket", status: { state: "Down" } };
  const result = await render({ composite: XR, composition: composition(BUCKET), observed: { bucket } });
  expect(result.names).toEqual(["bucket"]);
  expect(messageOf(() => expect(result).toComposeResource("policy"))).toMatchInlineSnapshot(`
    "expected the entry "policy" to be composed, but it is not
    Composed:
      bucket: Bucket shop-bucket
    Warnings:
      Warning: composed resource "policy": cannot be rendered: spec.resources[1].patches[0]: spec.policy: no such field"
  `);
  expect(messageOf(() => expect(result).toBeReady())).toMatchInlineSnapshot(`
    "expected the composite resource (XStore shop) to be ready
      bucket (Bucket shop-bucket): readinessChecks[0]: status.state is not "Up"
      policy: it is not composed; the warnings say why
    Warnings:
      Warning: composed resource "policy": cannot be rendered: spec.resources[1].patches[0]: spec.policy: no such field"
  `);
});

test("a template without readiness checks waits for the condition Ready, even if a function adds checks", async () => {
  const rest = "  functions: [{ name: check, type: Container, container: { image: check } }]";
  const check = compose(({ desired }) => {
    desired.patch("one", {}, { readinessChecks: [{ type: "NonEmpty", fieldPath: "status.id" }] });
  });
  const result = await render({
    composite: XR,
    composition: composition("[{ name: one, base: { apiVersion: v1, kind: One } }]", rest),
    functions: { check },
    observed: { one: { apiVersion: "v1", kind: "One" } },
  });
  expect(messageOf(() => expect(result).toBeReady())).toMatchInlineSnapshot(`
    "expected the composite resource (XStore shop) to be ready
      one (One shop-one): it has no condition Ready
        and readinessChecks[0]: status.id is not there"
  `);
});

test("the environment is selected from the EnvironmentConfigs of a test", async () => {
  const environment = `
  environment:
    environmentConfigs: [{ type: Reference, ref: { name: here } }]
`;
  const patched = `
  - name: one
    base: { apiVersion: v1, kind: One }
    patches: [{ type: FromEnvironmentFieldPath, fromFieldPath: region, toFieldPath: spec.region }]
`;
  const here = `{apiVersion: apiextensions.crossplane.io/v1alpha1, kind: EnvironmentConfig, metadata: {name: here}, data: {region: eu}}`;
  const given = { composite: XR, composition: composition(patched, environment) };
  const result = await render({ ...given, environmentConfigs: [here] });
  expect(result).toComposeResource("one", { spec: { region: "eu" } });
  await expect(render(given)).rejects.toMatchObject({ code: "InvalidEnvironment" });
});

test("connection details without a source, or missing in the definition, are findings", async () => {
  const { findings } = await render({ composite: XR, composition: composition(BUCKET), definition: DEFINITION });
  expect(findings.map(({ message }) => message).join()).toContain("url");
});

test("a connection detail of a function is not missing in the definition", async () => {
  const functions = "  functions: [{ name: f, type: Container, container: { image: f } }]";
  const exposing = (name: string): Promise<Rendering> =>
    render({
      composite: XR,
      composition: composition(BUCKET, functions),
      definition: DEFINITION,
      functions: { f: compose(({ desired }) => desired.composite.connectionDetail(name, "value")) },
    });
  expect((await exposing("url")).findings).toEqual([]);
  const { findings } = await exposing("link");
  expect(findings.map(({ code, path }) => `${code} ${path}`).toSorted()).toEqual([
    "Ignored spec.functions",
    "Required spec.resources",
  ]);
});

test("a definition of another kind is an error", async () => {
  const definition = DEFINITION.replaceAll("XStore", "XShop");
  await expect(render({ composite: XR, composition: composition(BUCKET), definition })).rejects.toMatchObject({
    name: "DefinitionError",
  });
});

test("a converged composition contains resources that depend on others", async () => {
  const chain = `
  - name: first
    base: { apiVersion: v1, kind: First }
    patches: [{ type: ToCompositeFieldPath, fromFieldPath: status.id, toFieldPath: status.id }]
  - name: second
    base: { apiVersion: v1, kind: Second }
    patches: [{ fromFieldPath: status.id, toFieldPath: spec.of, policy: { fromFieldPath: Required } }]
`;
  const given = { composite: XR, composition: composition(chain) };
  expect((await render(given)).names).toEqual(["first"]);
  const result = await converge(given, { status: (name) => ({ ...READY, id: `${name}-id` }) });
  expect(result).toBeReady();
  expect(result).toComposeResource("second", { spec: { of: "first-id" } });
});
