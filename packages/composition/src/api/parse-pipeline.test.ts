import { readDocuments } from "@xfn/json/document";
import { describe, expect, test } from "vitest";
import { checkSpec, HEAD } from "../../testing/check-spec.ts";
import { checkComposition } from "./parse-composition.ts";

const NOTHING = { credentials: [], requirements: { resources: [], schemas: [] } };

describe("mode: Pipeline", () => {
  test("is read with its steps", () => {
    const { spec, errors, warnings } = checkSpec(`
mode: Pipeline
pipeline:
- step: first
  functionRef: {name: function-go-templating}
  input: {apiVersion: gotemplating.fn.crossplane.io/v1beta1, kind: GoTemplate, source: Inline}
- step: second
  functionRef: {package: "xpkg.crossplane.io/crossplane-contrib/function-auto-ready:v0.6.0"}
`);
    expect([...errors, ...warnings]).toEqual([]);
    expect(spec?.mode).toBe("Pipeline");
    expect(spec?.pipeline).toEqual([
      {
        name: "first",
        type: "Package",
        functionRef: { name: "function-go-templating" },
        input: { apiVersion: "gotemplating.fn.crossplane.io/v1beta1", kind: "GoTemplate", source: "Inline" },
        ...NOTHING,
      },
      {
        name: "second",
        type: "Package",
        functionRef: { package: "xpkg.crossplane.io/crossplane-contrib/function-auto-ready:v0.6.0" },
        ...NOTHING,
      },
    ]);
  });

  test("reads credentials and requirements", () => {
    const { spec, errors, warnings } = checkSpec(`
mode: Pipeline
pipeline:
- step: s
  functionRef: {name: f}
  credentials:
  - {name: cloud, source: Secret, secretRef: {namespace: ns, name: keys}}
  - {name: nothing, source: None}
  requirements:
    requiredResources:
    - {requirementName: one, apiVersion: v1, kind: ConfigMap, namespace: ns, name: settings}
    - {requirementName: many, apiVersion: v1, kind: ConfigMap, matchLabels: {a: b, c: null}}
    requiredSchemas:
    - {requirementName: cm, apiVersion: v1, kind: ConfigMap}
`);
    expect([...errors, ...warnings]).toEqual([]);
    expect(spec?.pipeline?.[0]).toMatchObject({
      credentials: [{ name: "cloud", secretRef: { namespace: "ns", name: "keys" } }],
      requirements: {
        resources: [
          { requirementName: "one", apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "settings" },
          { requirementName: "many", apiVersion: "v1", kind: "ConfigMap", matchLabels: { a: "b" } },
        ],
        schemas: [{ requirementName: "cm", apiVersion: "v1", kind: "ConfigMap" }],
      },
    });
  });

  test("takes a FunctionIO container as a step, with the fields of functions", () => {
    const { spec, errors, warnings } = checkSpec(`
mode: Pipeline
pipeline:
- step: ours
  container: {image: registry.example.org/f:v1, timeout: 20s}
  cache: {ttl: 10m}
  config: {apiVersion: example.org/v1, kind: Config, x: 1}
- {step: theirs, functionRef: {name: f}}
`);
    expect([...errors, ...warnings]).toEqual([]);
    expect(spec?.pipeline?.map(({ type }) => type)).toEqual(["Container", "Package"]);
    expect(spec?.pipeline?.[0]).toMatchObject({
      name: "ours",
      type: "Container",
      container: { image: "registry.example.org/f:v1", timeoutMs: 20_000, network: "Isolated" },
      config: { x: 1 },
      cache: { ttlMs: 600_000 },
    });
  });

  test("takes io in a step and in functions, and leaves it out by default", () => {
    const container = "type: Container, container: {image: i}";
    const { spec, errors, warnings } = checkSpec(`
mode: Pipeline
pipeline:
- {step: a, io: KRM, ${container}}
- {step: b, io: ResourceList, webhook: {url: https://a/}}
- {step: c, ${container}}
`);
    expect([...errors, ...warnings]).toEqual([]);
    const overlay = checkSpec(`functions: [{name: d, io: KRM, ${container}}]`);
    expect([...overlay.errors, ...overlay.warnings]).toEqual([]);
    expect(overlay.spec?.functions[0]?.io).toBe("KRM");
    expect(spec?.pipeline?.map((step) => "io" in step && step.io)).toEqual(["KRM", "ResourceList", false]);
  });

  test("takes a webhook as a step, by url or by service", () => {
    const pem = Buffer.from("-----BEGIN CERTIFICATE-----\n").toString("base64");
    const { spec, errors, warnings } = checkSpec(`
mode: Pipeline
pipeline:
- step: url
  webhook: {url: https://example.org:8443/a/b, timeout: 5s, caBundle: ${pem}}
  config: {apiVersion: example.org/v1, kind: Config, x: 1}
- step: service
  type: Webhook
  webhook: {service: {namespace: ns, name: db, path: /v1, port: 8443}, credentials: {secretRef: {namespace: a, name: b}}}
- {step: plain, webhook: {service: {namespace: ns, name: db, port: 443}}}
`);
    expect([...errors, ...warnings]).toEqual([]);
    expect(spec?.pipeline).toEqual([
      {
        name: "url",
        type: "Webhook",
        webhook: { url: "https://example.org:8443/a/b", timeoutMs: 5000, caBundle: "-----BEGIN CERTIFICATE-----\n" },
        config: { apiVersion: "example.org/v1", kind: "Config", x: 1 },
      },
      {
        name: "service",
        type: "Webhook",
        webhook: { url: "https://db.ns.svc:8443/v1", credentials: { secretRef: { namespace: "a", name: "b" } } },
      },
      { name: "plain", type: "Webhook", webhook: { url: "https://db.ns.svc/" } },
    ]);
  });

  const step = (fields: string): string => `mode: Pipeline\npipeline: [{step: s, ${fields}}]`;

  test.each([
    ["mode: Magic", "spec.mode: Invalid"],
    ["mode: Pipeline", "spec.pipeline: Required"],
    ["mode: Pipeline\npipeline: []", "spec.pipeline: Required"],
    ["mode: Pipeline\npipeline: [{functionRef: {name: f}}]", "spec.pipeline[0].step: Required"],
    ["mode: Pipeline\npipeline: [{step: s}]", "spec.pipeline[0].functionRef: Required"],
    [step("functionRef: {}"), "spec.pipeline[0].functionRef.name: Required"],
    [step('functionRef: {name: ""}'), "spec.pipeline[0].functionRef.name: Required"],
    [step("functionRef: {name: 1}"), "spec.pipeline[0].functionRef.name: Invalid"],
    [step("functionRef: {name: f, package: a.b/c:v1}"), "spec.pipeline[0].functionRef.package: Invalid"],
    [step("functionRef: {package: a.b/c}"), "spec.pipeline[0].functionRef.package: Invalid"],
    [step('functionRef: {package: "a.b/c@sha256:0123"}'), "spec.pipeline[0].functionRef.package: Invalid"],
    [step("functionRef: {package: function-f}"), "spec.pipeline[0].functionRef.package: Invalid"],
    [step("functionRef: {package: crossplane-contrib/function-f}"), "spec.pipeline[0].functionRef.package: Invalid"],
    [step("functionRef: {name: f}, container: {image: i}"), "spec.pipeline[0].container: Invalid"],
    [step("functionRef: {name: f}, webhook: {url: https://a/}"), "spec.pipeline[0].webhook: Invalid"],
    [step("io: YAML, container: {image: i}"), "spec.pipeline[0].io: Invalid"],
    [step("webhook: {}"), "spec.pipeline[0].webhook.url: Required"],
    [step("webhook: {url: http://a/}"), "spec.pipeline[0].webhook.url: Invalid"],
    [step("webhook: {url: https://user:secret@a/}"), "spec.pipeline[0].webhook.url: Invalid"],
    [step("webhook: {url: https://a/?token=x}"), "spec.pipeline[0].webhook.url: Invalid"],
    [step("webhook: {url: https://a/, service: {namespace: a, name: b}}"), "spec.pipeline[0].webhook.service: Invalid"],
    [step("webhook: {service: {name: b}}"), "spec.pipeline[0].webhook.service.namespace: Required"],
    [step("webhook: {service: {namespace: a, name: b, port: 0}}"), "spec.pipeline[0].webhook.service.port: Invalid"],
    [step("webhook: {service: {namespace: a, name: b, path: x}}"), "spec.pipeline[0].webhook.service.path: Invalid"],
    [step("webhook: {url: https://a/, caBundle: AAAA}"), "spec.pipeline[0].webhook.caBundle: Invalid"],
    [step("webhook: {url: https://a/, caBundle: A}"), "spec.pipeline[0].webhook.caBundle: Invalid"],
    [step("webhook: {url: https://a/, credentials: {}}"), "spec.pipeline[0].webhook.credentials.secretRef: Required"],
    [step("webhook: {url: https://a/, timeout: 0s}"), "spec.pipeline[0].webhook.timeout: Invalid"],
    [step("type: Container, webhook: {url: https://a/}"), "spec.pipeline[0].type: Invalid"],
    [step("webhook: {url: https://a/}, cache: {ttl: 1m}"), "spec.pipeline[0].cache: Invalid"],
    [step("container: {}"), "spec.pipeline[0].container.image: Required"],
    [step("container: {image: i}, cache: 10m"), "spec.pipeline[0].cache: Invalid"],
    [step("container: {image: i}, cache: {}"), "spec.pipeline[0].cache.ttl: Required"],
    [step("container: {image: i}, cache: {ttl: 0s}"), "spec.pipeline[0].cache.ttl: Invalid"],
    [step("container: {image: i}, cache: {ttl: -1m}"), "spec.pipeline[0].cache.ttl: Invalid"],
    [step("container: {image: i}, cache: {ttl: 25h}"), "spec.pipeline[0].cache.ttl: Invalid"],
    [step("container: {image: i}, cache: {ttl: 10}"), "spec.pipeline[0].cache.ttl: Invalid"],
    [step("container: {image: i, network: Accessible}, cache: {ttl: 10m}"), "spec.pipeline[0].cache: Invalid"],
    [
      step("functionRef: {name: f}, credentials: [{name: c, source: Secret}]"),
      "spec.pipeline[0].credentials[0].secretRef: Required",
    ],
    [
      step("functionRef: {name: f}, credentials: [{name: c, source: None}, {name: c, source: None}]"),
      "spec.pipeline[0].credentials[1].name: Duplicate",
    ],
    [
      step(
        "functionRef: {name: f}, requirements: {requiredResources: [{requirementName: a, apiVersion: v1, kind: K, name: one, matchLabels: {}}]}",
      ),
      "spec.pipeline[0].requirements.requiredResources[0].matchLabels: Invalid",
    ],
    [
      step("functionRef: {name: f}, requirements: {requiredSchemas: [{requirementName: a, kind: K}]}"),
      "spec.pipeline[0].requirements.requiredSchemas[0].apiVersion: Required",
    ],
    [
      "mode: Pipeline\npipeline: [{step: s, functionRef: {name: f}}, {step: s, functionRef: {name: g}}]",
      "spec.pipeline[1].step: Duplicate",
    ],
  ])("%j is rejected", (text, expected) => {
    expect(checkSpec(text).errors).toEqual([expected]);
  });

  test.each([
    "xpkg.crossplane.io/crossplane-contrib/function-auto-ready:v0.6.0",
    "localhost/f:v1",
    `localhost:5000/f@sha256:${"0".repeat(64)}`,
    "./folder",
    "oci:build/package",
  ])("%s is a whole reference of a package", (reference) => {
    expect(checkSpec(step(`functionRef: {package: "${reference}"}`)).errors).toEqual([]);
  });

  test("an error has the line and column of its field", () => {
    const [document] = readDocuments(`${HEAD}  mode: Pipeline
  pipeline:
  - step: s
    functionRef:
      name: f
      package: function-f
`);
    if (document === undefined) throw new Error("no document");
    const { findings } = checkComposition(document);
    expect(findings.map(({ line, column }) => [line, column])).toEqual([
      [11, 7],
      [11, 7],
    ]);
  });

  test("fields without effect are warnings", () => {
    const steps = "[{step: s, functionRef: {name: f}}]";
    expect(
      checkSpec(`mode: Pipeline\npipeline: ${steps}\nresources: [{name: a, base: {apiVersion: v1, kind: K}}]`),
    ).toMatchObject({
      errors: [],
      warnings: ["spec.resources: Ignored"],
    });
    expect(checkSpec(`resources: []\npipeline: ${steps}`)).toMatchObject({
      errors: [],
      warnings: ["spec.pipeline: Ignored"],
    });
    expect(checkSpec(step("functionRef: {name: f}, config: {apiVersion: a/v1, kind: C}")).warnings).toEqual([
      "spec.pipeline[0].config: Ignored",
    ]);
    expect(checkSpec(step("functionRef: {name: f}, cache: {ttl: 10m}")).warnings).toEqual([
      "spec.pipeline[0].cache: Ignored",
    ]);
    expect(checkSpec(step("container: {image: i}, input: {apiVersion: a/v1, kind: C}")).warnings).toEqual([
      "spec.pipeline[0].input: Ignored",
    ]);
  });
});
