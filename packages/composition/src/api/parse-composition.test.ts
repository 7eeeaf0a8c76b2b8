import { readDocuments } from "@xfn/json/document";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CompositionError, type Finding, MAX_FINDINGS } from "../reader/composition-error.ts";
import { type Composition, type ContainerFunction, isCompatible } from "./composition.ts";
import { checkComposition, documentOf, parseComposition } from "./parse-composition.ts";

function parse(yaml: string): { composition: Composition; warnings: Finding[] } {
  const [document] = readDocuments(yaml, { source: "composition.yaml" });
  if (document === undefined) throw new Error("no document");
  const warnings: Finding[] = [];
  return { composition: parseComposition(document, { onWarning: (finding) => warnings.push(finding) }), warnings };
}

function errors(yaml: string): CompositionError {
  try {
    parse(yaml);
  } catch (error) {
    if (error instanceof CompositionError) return error;
    throw error;
  }
  throw new Error("expected a CompositionError");
}

/** `path: code`, in order. */
const paths = (findings: readonly Finding[]): string[] => findings.map((finding) => `${finding.path}: ${finding.code}`);

const head = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: example}
spec:
  compositeTypeRef: {apiVersion: database.example.org/v1alpha1, kind: XPostgreSQLInstance}
`;
const withCache = (container: string, ttl: string): string =>
  `${head}  functions: [{name: f, type: Container, container: {image: i, ${container}}, cache: {ttl: ${ttl}}}]`;
const withContainer = (container: string): string =>
  `${head}  functions: [{name: f, type: Container, container: {image: i, ${container}}}]\n`;
const container = (text: string): ContainerFunction | undefined => {
  const [first] = parse(withContainer(text)).composition.spec.functions;
  return first?.type === "Container" ? first.container : undefined;
};

describe("parseComposition", () => {
  test("reads a Composition with all fields of a function", () => {
    const { composition, warnings } = parse(`
apiVersion: apiextensions.crossplane.io/v2alpha1
kind: Composition
metadata:
  name: example
spec:
  compositeTypeRef:
    apiVersion: database.example.org/v1alpha1
    kind: XPostgreSQLInstance
  functions:
  - name: my-cool-function
    type: Container
    container:
      image: xkpg.io/my-cool-function:0.1.0
      imagePullPolicy: IfNotPresent
      imagePullSecrets:
      - namespace: crossplane-system
        name: my-xpkg-io-creds
      resources:
        limits:
          memory: 64Mi
          cpu: 250m
      network: Accessible
      timeout: 30s
      runner:
        endpoint: unix:///@crossplane/fn/default.sock
    config:
      apiVersion: database.example.org/v1alpha1
      kind: Config
      metadata:
        name: cloudsql
      spec:
        version: POSTGRES_9_6
`);
    expect(warnings).toEqual([]);
    expect(composition.apiVersion).toBe("apiextensions.crossplane.io/v2alpha1");
    expect(composition.metadata.name).toBe("example");
    expect(composition.spec).toEqual({
      compositeTypeRef: { apiVersion: "database.example.org/v1alpha1", kind: "XPostgreSQLInstance" },
      undesiredResources: "Keep",
      resources: [],
      patchSets: [],
      functions: [
        {
          name: "my-cool-function",
          type: "Container",
          container: {
            image: "xkpg.io/my-cool-function:0.1.0",
            imagePullPolicy: "IfNotPresent",
            imagePullSecrets: [{ namespace: "crossplane-system", name: "my-xpkg-io-creds" }],
            resources: { limits: { memoryBytes: 64 * 1024 * 1024, cpus: 0.25 } },
            network: "Accessible",
            timeoutMs: 30_000,
            runner: { endpoint: "unix:///@crossplane/fn/default.sock" },
          },
          config: {
            apiVersion: "database.example.org/v1alpha1",
            kind: "Config",
            metadata: { name: "cloudsql" },
            spec: { version: "POSTGRES_9_6" },
          },
        },
      ],
    });
  });

  test("leaves defaults to the runner, but isolates the network", () => {
    expect(container("")).toEqual({
      image: "i",
      imagePullSecrets: [],
      network: "Isolated",
      resources: { limits: {} },
      runner: {},
    });
  });

  test.each([
    ["network: Isolated", "Isolated"],
    ["network: Accessible", "Accessible"],
    ["network: {policy: Isolated}", "Isolated"],
    ["network: {policy: Runner}", "Accessible"],
    ["network: {}", "Isolated"],
    ["network: null", "Isolated"],
  ])("reads %s as %s", (text, network) => {
    expect(container(text)?.network).toBe(network);
  });

  test("accepts numbers as quantities, like Kubernetes", () => {
    expect(container("resources: {limits: {cpu: 2, memory: 1000000}}")?.resources.limits).toEqual({
      cpus: 2,
      memoryBytes: 1_000_000,
    });
    expect(container("resources: {limits: {cpu: 0.5, memory: 1.5Gi}}")?.resources.limits).toEqual({
      cpus: 0.5,
      memoryBytes: 1.5 * 1024 ** 3,
    });
  });

  test("reads from as compositeTypeRef", () => {
    const { composition } = parse(
      "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: Composition\nspec: {from: {apiVersion: a/v1, kind: K}}",
    );
    expect(composition.spec.compositeTypeRef).toEqual({ apiVersion: "a/v1", kind: "K" });
    expect(isCompatible(composition, { apiVersion: "a/v1", kind: "K" })).toBe(true);
    expect(isCompatible(composition, { apiVersion: "a/v2", kind: "K" })).toBe(false);
    expect(isCompatible(composition, { apiVersion: "a/v1", kind: "L" })).toBe(false);
  });

  test("warns that a Composition without functions composes nothing", () => {
    const { composition, warnings } = parse(head);
    expect(composition.spec.functions).toEqual([]);
    expect(paths(warnings)).toEqual(["spec.functions: Ignored"]);
  });

  test("reads undesiredResources", () => {
    expect(parse(`${head}  functions: []\n  undesiredResources: Delete\n`).composition.spec.undesiredResources).toBe(
      "Delete",
    );
    expect(paths(errors(`${head}  undesiredResources: Drop\n`).issues)).toEqual(["spec.undesiredResources: Invalid"]);
  });
});

describe("unsupported features", () => {
  const f = "functions: [{name: f, type: Container, container: {image: i}}]";
  test.each(["resources: []", "mode: Resources", "patchSets: []", "resources: null"])("%s changes nothing", (text) => {
    expect(parse(`${head}  ${f}\n  ${text}\n`).warnings).toEqual([]);
  });

  test("type: Chroot has the fields of a container, and requires network: Accessible", () => {
    const chroot = "type: Chroot, container: {image: i, imagePullPolicy: Never, network: Accessible}";
    const { composition } = parse(`${head}  functions: [{name: f, ${chroot}}]\n`);
    expect(composition.spec.functions).toEqual([
      expect.objectContaining({
        type: "Chroot",
        container: expect.objectContaining({ image: "i", imagePullPolicy: "Never", network: "Accessible" }),
      }),
    ]);
    const pipeline = `  mode: Pipeline\n  pipeline: [{step: f, ${chroot}}]\n`;
    expect(parse(`${head}${pipeline}`).composition.spec.pipeline?.[0]).toMatchObject({ type: "Chroot" });
  });

  test.each([
    "image: i",
    "image: i, network: Isolated",
    "image: i, network: {policy: Isolated}",
    "image: i, network: Accessible, resources: {limits: {memory: 1Gi}}",
  ])("type: Chroot cannot enforce {%s}", (container) => {
    for (const steps of [
      `  functions: [{name: f, type: Chroot, container: {${container}}}]\n`,
      `  mode: Pipeline\n  pipeline: [{step: f, type: Chroot, container: {${container}}}]\n`,
    ]) {
      const [path] = paths(errors(`${head}${steps}`).issues);
      expect(path).toMatch(/^spec\.(functions|pipeline)\[0\]\.container: Unsupported$/);
    }
  });
});

describe("errors", () => {
  test("all errors of a file are reported with their positions, in the order of the file", () => {
    const error = errors(`apiVersion: apiextensions.crossplane.io/v7
kind: Composition
spec:
  functions:
  - name: a
    type: Container
    container:
      image: ""
      timeout: 10
      imagePullPolicy: Sometimes
      resources: {limits: {memory: lots, cpu: -1, gpu: 1}}
  - name: a
    type: Magic
  - type: Container
  compositeTypeRef: {apiVersion: v1}
`);
    expect(error.issues.map((issue) => `${issue.line}:${issue.column} ${issue.path} ${issue.code}`)).toEqual([
      "1:1 apiVersion Invalid",
      "8:7 spec.functions[0].container.image Required",
      "9:7 spec.functions[0].container.timeout Invalid",
      "10:7 spec.functions[0].container.imagePullPolicy Invalid",
      "11:28 spec.functions[0].container.resources.limits.memory Invalid",
      "11:42 spec.functions[0].container.resources.limits.cpu Invalid",
      "11:51 spec.functions[0].container.resources.limits.gpu Unsupported",
      "12:5 spec.functions[1].name Duplicate",
      "13:5 spec.functions[1].type Invalid",
      "14:5 spec.functions[2].name Required",
      "14:5 spec.functions[2].container Required",
      "15:3 spec.compositeTypeRef.kind Required",
    ]);
    expect(error.code).toBe("Invalid");
    expect(error.source).toBe("composition.yaml");
    expect(error.message).toContain("composition.yaml:8:7: spec.functions[0].container.image: ");
  });

  test.each([
    ["[]", ": Invalid"],
    ["kind: XDatabase", "kind: Invalid"],
    ["apiVersion: v1", "kind: Required"],
    [`${head}  from: {apiVersion: a, kind: b}`, "spec.from: Invalid"],
    ["apiVersion: apiextensions.crossplane.io/v1\nkind: Composition", "spec: Required"],
    ["apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec: 7", "spec: Invalid"],
    ["apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nspec: {}", "spec.compositeTypeRef: Required"],
    [`${head}  functions: {}`, "spec.functions: Invalid"],
    [`${head}  functions: [f]`, "spec.functions[0]: Invalid"],
    [`${head}  functions: [{name: f, type: Container}]`, "spec.functions[0].container: Required"],
    [`${head}  functions: [{name: f, type: Container, container: x}]`, "spec.functions[0].container: Invalid"],
    [`${head}  functions: [{name: f, container: {image: i}}]`, "spec.functions[0].type: Required"],
    [`${head}  functions: [{name: 7, type: Container, container: {image: i}}]`, "spec.functions[0].name: Invalid"],
    [withContainer("timeout: 0s"), "spec.functions[0].container.timeout: Invalid"],
    [withContainer("timeout: -5s"), "spec.functions[0].container.timeout: Invalid"],
    [withContainer("timeout: 600h"), "spec.functions[0].container.timeout: Invalid"],
    [withContainer("timeout: ten"), "spec.functions[0].container.timeout: Invalid"],
    [withCache("network: Accessible", "10m"), "spec.functions[0].cache: Invalid"],
    [withCache("network: {policy: Runner}", "10m"), "spec.functions[0].cache: Invalid"],
    [withCache("network: Isolated", "0s"), "spec.functions[0].cache.ttl: Invalid"],
    [withContainer("network: Host"), "spec.functions[0].container.network: Invalid"],
    [withContainer("network: {policy: Host}"), "spec.functions[0].container.network.policy: Invalid"],
    [withContainer("resources: {limits: {cpu: 0}}"), "spec.functions[0].container.resources.limits.cpu: Invalid"],
    [
      withContainer("resources: {limits: {memory: true}}"),
      "spec.functions[0].container.resources.limits.memory: Invalid",
    ],
    [withContainer("imagePullSecrets: [{}]"), "spec.functions[0].container.imagePullSecrets[0].name: Required"],
    [`${head.replace("name: example", "name: 7")}  functions: []`, "metadata.name: Invalid"],
    [`${head.replace("name: example", "labels: {a: 1}")}  functions: []`, "metadata.labels.a: Invalid"],
  ])("%j is rejected", (yaml, expected) => {
    expect(paths(errors(yaml).issues)[0]).toBe(expected);
  });

  test("the message of many errors is bounded", () => {
    const functions = Array.from({ length: 1000 }, () => "{}").join(",");
    const error = errors(`${head}  functions: [${functions}]`);
    expect(error.issues).toHaveLength(MAX_FINDINGS);
    expect(error.message).toMatch(/and 1900 more$/);
  });
});

describe("warnings", () => {
  test("unknown fields are warnings that suggest the closest field", () => {
    const { warnings } = parse(`${head}  function: []
  functions:
  - name: f
    type: Container
    input: {}
    container: {image: i, timeOut: 5s, imagePullSecret: [], zzz: 1, network: {polcy: Runner}}
`);
    expect(warnings.map((finding) => `${finding.line}:${finding.column} ${finding.path}: ${finding.message}`)).toEqual([
      "7:3 spec.function: no such field; did you mean functions?",
      "11:5 spec.functions[0].input: no such field",
      "12:27 spec.functions[0].container.timeOut: no such field; did you mean timeout?",
      "12:40 spec.functions[0].container.imagePullSecret: no such field; did you mean imagePullSecrets?",
      "12:61 spec.functions[0].container.zzz: no such field",
      "12:79 spec.functions[0].container.network.polcy: no such field; did you mean policy?",
    ]);
  });

  test("are reported for a Composition with errors too: a misspelt field is often why another is missing", () => {
    const warnings: Finding[] = [];
    const [document] = readDocuments(`${head}  functions: [{nmae: f, type: Container, container: {image: i}}]`);
    if (document === undefined) throw new Error("no document");
    const onWarning = (finding: Finding): unknown => warnings.push(finding);
    expect(() => parseComposition(document, { onWarning })).toThrow("name");
    expect(warnings.map((finding) => finding.message)).toEqual(["no such field; did you mean name?"]);
  });

  test("an unknown value is reported with the closest one", () => {
    const [issue] = errors(
      `${head}  resources: [{name: a, base: {kind: K}, patches: [{type: FromCompositFieldPath}]}]`,
    ).issues;
    expect(issue?.message).toContain("did you mean FromCompositeFieldPath?");
  });

  test("requests, and a config that an API server would reject, are warnings", () => {
    const { warnings } = parse(
      `${head}  functions: [{name: f, type: Container, config: {a: 1}, container: {image: i, resources: {requests: {cpu: 1}}}}]`,
    );
    expect(paths(warnings)).toEqual([
      "spec.functions[0].config.apiVersion: Required",
      "spec.functions[0].config.kind: Required",
      "spec.functions[0].container.resources.requests: Ignored",
    ]);
  });

  test("hostile: many unknown fields cost little, and cause a bounded number of warnings", () => {
    const spec = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`functionss${n}`, n]));
    const { findings } = checkComposition(
      documentOf({ apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition", metadata: {}, spec }),
    );
    expect(findings).toHaveLength(MAX_FINDINGS);
  });
});

describe("any JSON", () => {
  test("yields a Composition or at least one error, and never crashes", () => {
    const fields = "apiVersion kind metadata labels spec functions name type container image resources limits memory";
    const templates =
      "resources to patchSets patches base transforms map match math string convert regexp patterns combine";
    const more =
      "variables policy environment environmentConfigs selector matchLabels ref key pipeline step functionRef mode";
    const rest =
      "connectionDetails readinessChecks matchCondition fieldPath network timeout compositeTypeRef config __proto__";
    const field = fc.constantFrom(...`${fields} ${templates} ${more} ${rest}`.split(" "));
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "medium" },
        fc.constantFrom(null, "", "Container", "Composition", "apiextensions.crossplane.io/v1", 1, true, "10s"),
        fc.constantFrom(
          "PatchSet",
          "CombineFromComposite",
          "match",
          "convert",
          "Selector",
          "MatchInteger",
          "Pipeline",
          "(",
        ),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(field, tie("value"), { maxKeys: 6, noNullPrototype: false }),
      ),
    })).value;
    fc.assert(
      fc.property(value, value, value, fc.array(value, { maxLength: 2 }), (spec, functions, patches, transforms) => {
        const base = typeof spec === "object" && spec !== null && !Array.isArray(spec) ? spec : {};
        const root = {
          apiVersion: "apiextensions.crossplane.io/v1",
          kind: "Composition",
          spec: {
            ...base,
            functions,
            patchSets: [{ name: "p", patches }],
            resources: [{ base: {}, patches: [{ fromFieldPath: "a", transforms }] }, spec],
          },
        };
        const { composition, findings } = checkComposition(documentOf(JSON.parse(JSON.stringify(root))));
        expect(composition === undefined).toBe(findings.some((finding) => finding.severity === "error"));
      }),
      { numRuns: 500 },
    );
  });
});
