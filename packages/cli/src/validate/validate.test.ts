import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { type Finished, runXfn } from "../../testing/run-xfn.ts";

let dir: string;

beforeAll(() => {
  dir = temporaryFolder();
  write("definition.yaml", DEFINITION);
  write("crd.yaml", CRD);
  write("good.yaml", "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: good}\nspec: {size: 2}\n");
});

const DEFINITION = `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xthings.example.org}
spec:
  group: example.org
  names: {kind: XThing, plural: xthings}
  claimNames: {kind: Thing, plural: things}
  connectionSecretKeys: [password]
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
            required: [size, region]
            properties:
              size: {type: integer, maximum: 9}
              password: {type: string, pattern: '^[0-9]+$', maxLength: 3, enum: ["1"]}
              region: {type: string, default: eu}
`;

const CRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.store.example.org}
spec:
  group: store.example.org
  scope: Cluster
  names: {kind: Bucket, plural: buckets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {id: {type: integer}}
`;

function write(name: string, content: string): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

const run = (...args: string[]): Promise<Finished> => runXfn(["validate", ...args]);

/** Validates a text against the definition and the CRD. */
function check(text: string, ...flags: string[]): ReturnType<typeof run> {
  return run(`${join(dir, "definition.yaml")},${join(dir, "crd.yaml")}`, write("resources.yaml", text), ...flags);
}

test("valid resources are exit code 0; defaults are applied before validation", async () => {
  const { code, stdout, stderr } = await run(join(dir, "definition.yaml"), join(dir, "good.yaml"));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toBe(
    "[✓] example.org/v1, Kind=XThing, good validated successfully\n" +
      "Total 1 resources: 0 missing schemas, 1 success cases, 0 failure cases\n",
  );
});

test("a list may have spaces after its commas", async () => {
  const good = join(dir, "good.yaml");
  const { code, stdout } = await run(`${join(dir, "definition.yaml")}, ${join(dir, "crd.yaml")}`, `${good}, ${good}`);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("Total 2 resources") });
});

test("each error of an XR, a claim or any other resource has its line and column", async () => {
  const { code, stdout } = await check(`apiVersion: example.org/v1
kind: XThing
metadata: {name: x}
spec:
  size: 10
  sise: 1
---
apiVersion: example.org/v1
kind: Thing
metadata: {name: c, namespace: team}
spec: {}
---
apiVersion: store.example.org/v1
kind: Bucket
metadata:
  annotations: {crossplane.io/composition-resource-name: bucket}
spec: {id: 9223372036854775808}
`);
  expect(code).toBe(1);
  const lines = stdout.split("\n");
  const place = (position: string): string => ` (${join(dir, "resources.yaml")}:${position})`;
  expect(lines).toEqual([
    `[x] schema validation error example.org/v1, Kind=XThing, x : spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9${place("5:3")}`,
    `[x] schema validation error example.org/v1, Kind=XThing, x : spec.sise: Invalid value: "sise": unknown field: "sise"${place("6:3")}`,
    `[x] schema validation error example.org/v1, Kind=Thing, c : spec.size: Required value${place("11:1")}`,
    `[x] schema validation error store.example.org/v1, Kind=Bucket, bucket : spec.id: Invalid value: "number": spec.id in body must be of type integer: "number"${place("17:8")}`,
    "Total 3 resources: 0 missing schemas, 0 success cases, 3 failure cases",
    "",
  ]);
});

test.each([["hunter2"], [77]])("hides the value %j of a field with the name of a secret", async (secret) => {
  const resource = `{apiVersion: example.org/v1, kind: XThing, metadata: {name: x}, spec: {size: 10, password: ${secret}}}`;
  for (const form of ["text", "json", "yaml"]) {
    const { code, stdout, stderr } = await check(resource, "-o", form);
    expect(code).toBe(1);
    expect(stdout).toContain("spec.password");
    expect(`${stdout}${stderr}`).not.toContain(String(secret));
    expect(stdout).toMatch(/spec\.size: Invalid value: (\\")?10/);
  }
});

test.each([
  [
    "a List",
    "apiVersion: v1\nkind: List\nitems:\n- apiVersion: example.org/v1\n  kind: XThing\n  metadata: {name: t}\n  spec: {size: x}\n",
    "7:10",
  ],
  [
    "JSON without separators",
    '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}{"apiVersion": "example.org/v1", "kind": "XThing",\n "metadata": {"name": "t"}, "spec": {"size": "x"}}',
    "2:38",
  ],
])("the items of %s are checked, with their positions", async (_, text, position) => {
  const { code, stdout } = await check(text);
  expect(code).toBe(1);
  expect(stdout).toMatch(new RegExp(`XThing, t : spec\\.size: .*:${position}\\)`));
});

test("definitions may be a List too", async () => {
  const list = write(
    "list.yaml",
    `apiVersion: v1\nkind: List\nitems:\n- ${DEFINITION.trimEnd().replaceAll("\n", "\n  ")}\n`,
  );
  expect(await run(list, join(dir, "good.yaml"))).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("1 success"),
  });
});

test.each([
  ["nothing", "# nothing\n---\n"],
  ["an empty List", "{apiVersion: v1, kind: List, items: []}"],
])("%s is not a success", async (_, text) => {
  expect(await check(text)).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("no resources") });
});

test("a List without items is an error", async () => {
  const { code, stdout } = await check("apiVersion: v1\nkind: List\nitem: []\n");
  expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining("items") });
});

test("a kind without a schema is a warning, and an error on request", async () => {
  const text = "apiVersion: elsewhere.example.org/v1\nkind: Queue\nmetadata: {name: c}\n";
  const tolerant = await check(text);
  expect(tolerant.code).toBe(0);
  expect(tolerant.stdout).toMatch(
    /^\[!\] could not find CRD\/XRD for: elsewhere.example.org\/v1, Kind=Queue\n.*1 missing schemas/,
  );
  expect(await check(text, "--error-on-missing-schemas")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("schema(s) missing"),
  });
});

test("Kubernetes' own kinds are checked, alone and in Compositions", async () => {
  const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replica: 1, paused: no}\n";
  const text = `${deployment}---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  resources:
  - name: d
    base: {apiVersion: apps/v1, kind: Deployment}
    patches: [{fromFieldPath: spec.size, toFieldPath: spec.template.spec.container}]
`;
  const { code, stdout } = await check(text);
  expect(code).toBe(1);
  expect(stdout).toMatch(/Deployment, d : spec\.replica: .*unknown field.*:4:8\)/);
  expect(stdout).toContain("has no field container; did you mean containers?");
  expect(stdout).toContain("0 missing schemas, 0 success cases, 2 failure cases");
});

test("--skip-success-results keeps the total", async () => {
  const { stdout } = await run(join(dir, "definition.yaml"), join(dir, "good.yaml"), "--skip-success-results");
  expect(stdout).toMatch(/^Total 1 resources: .*1 success cases/);
});

test("JSON and YAML have summary, resources and errors with positions", async () => {
  const text = "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: x}\nspec: {size: s}\n";
  const { stdout } = await check(text, "-o", "json");
  expect(JSON.parse(stdout)).toMatchObject({
    summary: { total: 1, valid: 0, invalid: 1, missingSchemas: 0 },
    resources: [
      {
        apiVersion: "example.org/v1",
        kind: "XThing",
        name: "x",
        status: "invalid",
        errors: [{ type: "schema", field: "spec.size", line: 4, column: 8 }],
      },
    ],
  });
  expect((await check(text, "-o", "yaml")).stdout).toMatch(/^summary:\n {2}total: 1\n/);
});

test("names that are too long for a label are refused for XRs and claims only", async () => {
  const long = "n".repeat(64);
  const { stdout } = await check(
    `apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: ${long}}\nspec: {size: 1}\n---\n` +
      `apiVersion: store.example.org/v1\nkind: Bucket\nmetadata: {name: ${long}}\n`,
  );
  expect(stdout).toMatch(/XThing.*metadata\.name: Too long.*:3:12\)\n\[✓\].*Bucket/);
});

describe("metadata", () => {
  const bucket = (metadata: string): string =>
    `apiVersion: store.example.org/v1\nkind: Bucket\nmetadata: ${metadata}\n---\n`;
  const errorsOf = (stdout: string): unknown[] =>
    stdout
      .split("\n")
      .flatMap((line) => /^\[[x!]\].*? : ([^:]+: .*) \(.*:(\d+:\d+)\)$/.exec(line)?.slice(1, 3).join(" ") ?? []);

  test("is checked as in an API server", async () => {
    const { code, stdout } = await check(
      bucket('{name: My_DB, labels: {a: true, b: "has space", "c d": x}, annotations: {n: 1}}') +
        bucket("{labels: {ok: ok}}") +
        bucket("{generateName: b-, lables: {a: b}}") +
        bucket("{name: a, ownerReferences: [{apiVersion: v1, kind: A, name: a}]}"),
    );
    expect(code).toBe(1);
    expect(errorsOf(stdout)).toEqual([
      expect.stringMatching(/^metadata\.name: Invalid value: "My_DB": a lowercase RFC 1123 subdomain .* 3:12$/),
      expect.stringMatching(/^metadata\.labels\.a: .*type string: "boolean" 3:34$/),
      expect.stringMatching(/^metadata\.labels\.b: .* 3:43$/),
      expect.stringMatching(/^metadata\.labels\.c d: .* 3:59$/),
      expect.stringMatching(/^metadata\.annotations\.n: .*type string: "integer" 3:84$/),
      expect.stringMatching(/^metadata\.name: Required value: name or generateName is required 7:1$/),
      expect.stringMatching(/^metadata\.lables: .*did you mean labels\? 11:30$/),
      expect.stringMatching(/^metadata\.ownerReferences\[0\]\.uid: Required value: .* 15:39$/),
    ]);
  });

  test("of Kubernetes' own kinds, Compositions and definitions is checked too, by the rule of the kind", async () => {
    const { stdout } = await check(
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: a.b}\n---\n" +
        "apiVersion: v1\nkind: Service\nmetadata: {name: 1a}\n---\n" +
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: system:a}\n---\n" +
        "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: A}\nspec: {compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}, resources: []}\n---\n" +
        DEFINITION.replace("name: xthings.example.org", 'name: xthings.example.org, labels: {a: "b c"}'),
    );
    expect(errorsOf(stdout)).toEqual([
      expect.stringMatching(/^metadata\.name: Invalid value: "a\.b": a lowercase RFC 1123 label .* 3:12$/),
      expect.stringMatching(/^metadata\.name: Invalid value: "1a": a DNS-1035 label .* 7:12$/),
      expect.stringMatching(/^metadata\.name: Invalid value: "A": .* 15:12$/),
      expect.stringMatching(/^spec\.resources: no resource exposes .*/),
      expect.stringMatching(/^metadata\.labels\.a: .*/),
    ]);
  });

  test("a namespace of a cluster-scoped object has no effect, which is a warning", async () => {
    const { code, stdout } = await check(bucket("{name: a, namespace: team}"));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\[!\].*metadata\.namespace: has no effect: Bucket is cluster-scoped.*:3:21\)/);
  });

  test.each([
    ["y", "; YAML reads y as true: quote it if it is text"],
    ["off", "; YAML reads off as false: quote it if it is text"],
    ["true", ""],
  ])("says that %s is read as a boolean", async (word, hint) => {
    const { stdout } = await check(
      `${bucket(`{name: a, labels: {b: ${word}}}`)}apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: t}\nspec: {size: 1, region: ${word}}\n`,
    );
    const [label, region] = errorsOf(stdout);
    expect(label).toBe(
      `metadata.labels.b: Invalid value: "boolean": metadata.labels.b in body must be of type string: "boolean"${hint} 3:30`,
    );
    expect(region).toBe(
      `spec.region: Invalid value: "boolean": spec.region in body must be of type string: "boolean"${hint} 8:17`,
    );
  });
});

test("help has an example", async () => {
  expect((await run("--help")).stdout).toMatch(/^Usage: xfn validate .*Example:\n {2}\$ xfn validate /s);
});

describe("definitions and compositions", () => {
  test("errors in a definition among the extensions fail, and warnings do not", async () => {
    const bad = write(
      "bad.yaml",
      DEFINITION.replace("type: integer", "type: int").replace("group:", "grop: x\n  group:"),
    );
    const { code, stdout } = await run(bad, join(dir, "good.yaml"));
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^\[!\].*spec\.grop: no such field.*\n\[x\].*size\.type: "int" is not one of.*integer\?.*:\d+:\d+\)/,
    );
  });

  test("CEL rules of a definition can read the fields of its CRDs, and their failures are reported as such", async () => {
    const rules = (...texts: string[]): string =>
      write(
        "rules.yaml",
        DEFINITION.replace(
          "required: [size, region]",
          `required: [size]\n            x-kubernetes-validations: [${texts.map((rule) => `{rule: "${rule}"}`).join(", ")}]`,
        ),
      );
    const good = join(dir, "good.yaml");
    const failing = await run(rules("!has(self.compositionRef)", "self.size > 5"), good);
    expect(failing.stdout).toMatch(
      /^\[x\] CEL validation error example\.org\/v1, Kind=XThing, good : spec: Invalid value: "object": failed rule: self\.size > 5 \(.*:4:1\)$/m,
    );
    const broken = await run(rules("self.sise > 5", "self.size >", "has(self.resourceRefs)"), good);
    expect(broken.stdout.split("\n").filter((line) => line.startsWith("[x]"))).toEqual([
      expect.stringMatching(
        /validations\[0\]\.rule: is not valid CEL: undefined field 'sise'; did you mean size\?.*:20:41\)/,
      ),
      expect.stringMatching(/validations\[1\]\.rule: is not valid CEL: syntax error at 'the end'/),
      // A claim has no such field.
      expect.stringMatching(/validations\[2\]\.rule: is not valid CEL: undefined field 'resourceRefs'/),
      // The rules that compile still apply.
      expect.stringMatching(/Kind=XThing, good : spec: .* failed rule: has\(self\.resourceRefs\)/),
    ]);
  });

  test("a Composition is checked as an extension and as a resource", async () => {
    const composition = write(
      "composition.yaml",
      "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  functions: 5\n",
    );
    const good = join(dir, "good.yaml");
    const asExtension = await run(`${join(dir, "definition.yaml")},${composition}`, good);
    const asResource = await run(join(dir, "definition.yaml"), composition);
    for (const { code, stdout } of [asExtension, asResource]) {
      expect(code).toBe(1);
      expect(stdout).toMatch(/\[x\].*Kind=Composition, c : spec\.functions: .*:5:3\)/);
    }
  });

  test("a Composition is checked against the connection keys of its definition", async () => {
    const composition = write(
      "connection.yaml",
      `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  resources:
  - name: a
    base: {apiVersion: v1, kind: A}
    connectionDetails: [{fromConnectionSecretKey: user, name: user}]
`,
    );
    const { code, stdout } = await run(join(dir, "definition.yaml"), composition);
    expect(code).toBe(1);
    expect(stdout).toMatch(/\[!\].*"user" is not among the definition's connection keys.*:9:25\)/);
    expect(stdout).toMatch(/\[x\].*password/);
  });

  const INPUT_CRD = CRD.replaceAll("buckets", "inputs")
    .replace("Bucket", "Input")
    .replaceAll("store.example.org", "fn.example.org")
    .replace(
      "properties: {id: {type: integer}}",
      "required: [source]\n            properties: {source: {type: string}, replicas: {type: integer}}",
    );
  const withSteps = (spec: string): string =>
    `apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}\n${spec}`;
  const INPUT = '{apiVersion: fn.example.org/v1, kind: Input, spec: {sorce: Inline, replicas: "3"}}';

  test.each([
    [
      "input of a step",
      `  mode: Pipeline\n  pipeline:\n  - step: a\n    functionRef: {name: f}\n    input: ${INPUT}\n`,
      "spec.pipeline[0].input",
      10,
    ],
    [
      "config of a step",
      `  mode: Pipeline\n  pipeline:\n  - step: a\n    container: {image: i}\n    config: ${INPUT}\n`,
      "spec.pipeline[0].config",
      10,
    ],
    [
      "config of a function",
      `  functions:\n  - name: a\n    type: Container\n    container: {image: i}\n    config: ${INPUT}\n`,
      "spec.functions[0].config",
      10,
    ],
  ])("the %s is checked against its CRD, with positions in the Composition", async (_, spec, path, line) => {
    const extensions = [join(dir, "definition.yaml"), write("input.yaml", INPUT_CRD)].join(",");
    const { code, stdout } = await run(extensions, write("steps.yaml", withSteps(spec)));
    expect(code).toBe(1);
    for (const [field, message] of [
      ["source", "Required value"],
      ["sorce", "unknown field"],
      ["replicas", "must be of type integer"],
    ])
      expect(stdout.split("\n").filter((text) => text.includes(` : ${path}.spec.${field}: `))).toEqual([
        expect.stringMatching(new RegExp(`${message}.*steps.yaml:${line}:\\d+\\)$`)),
      ]);
    // As an extension too.
    const asExtension = await run(`${extensions},${join(dir, "steps.yaml")}`, join(dir, "good.yaml"));
    expect(asExtension.stdout).toContain(`${path}.spec.sorce`);
  });

  test("an input without a known schema is named as not validated", async () => {
    const path = write(
      "steps.yaml",
      withSteps(`  mode: Pipeline\n  pipeline: [{step: a, functionRef: {name: f}, input: ${INPUT}}]\n`),
    );
    const { code, stdout } = await run(join(dir, "definition.yaml"), path);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("could not find CRD/XRD for: fn.example.org/v1, Kind=Input"),
    });
    expect((await run(join(dir, "definition.yaml"), path, "--error-on-missing-schemas")).code).toBe(1);
  });

  test("a Composition with a name that the label of its revisions cannot hold is an error", async () => {
    const named = (name: string): string => withSteps("  resources: []\n").replace("name: c", `name: ${name}`);
    expect((await check(named("c".repeat(63)))).stdout).not.toContain("metadata.name");
    expect((await check(named("c".repeat(64)))).stdout).toMatch(/metadata\.name: Too long.*:3:12\)/);
  });

  test("reports a CRD without a structural schema, with its position", async () => {
    const bad = write("bad-crd.yaml", CRD.replace("type: integer", "minimum: 5"));
    const { code, stdout } = await run(bad, join(dir, "good.yaml"));
    expect(code).toBe(1);
    expect(stdout).toMatch(/\[x\].*CustomResourceDefinition.*properties\.id\.type: is missing.*bad-crd\.yaml:18:/);
  });
});

describe("bad input", () => {
  test.each([
    ["both from stdin", ["-", "-"], /stdin/],
    ["no such file", ["nowhere.yaml", "x.yaml"], /no such file/],
    ["an unknown format", ["a", "b", "-o", "xml"], /must be one of text, json, yaml/],
  ])("%s is exit code 2", async (_, args, message) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  test("escapes control characters of files", async () => {
    const { stdout } = await check('apiVersion: example.org/v1\nkind: "X\\e[31m"\nmetadata: {name: "a\\nb"}\n');
    expect(stdout).not.toMatch(/\u001b|a\nb/);
  });

  test("another document than a Kubernetes object is an error with its position", async () => {
    const { code, stdout } = await check("- 1\n");
    expect(code).toBe(1);
    expect(stdout).toMatch(/is not a Kubernetes object.*:1:1\)/);
  });

  test("reads folders with their subfolders, and ends in spite of a cycle of links", async () => {
    const folder = join(dir, "folder");
    mkdirSync(join(folder, "sub"), { recursive: true });
    writeFileSync(join(folder, "sub", "a.yaml"), "apiVersion: v1\nkind: A\nmetadata: {name: a}\n");
    symlinkSync(folder, join(folder, "sub", "loop"));
    writeFileSync(join(folder, "package.json"), '{"name": "project"}');
    writeFileSync(join(folder, "sub", "tsconfig.json"), "// settings\n{}");
    const { code, stdout } = await run(join(dir, "definition.yaml"), folder);
    expect({ code, total: /Total (\d+)/.exec(stdout)?.[1] }).toEqual({ code: 0, total: "1" });
  });
});

test("patches of a Composition are checked against the schemas of their kinds", async () => {
  const { code, stdout } = await check(`apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
  resources:
  - name: bucket
    base: {apiVersion: store.example.org/v1, kind: Bucket}
    connectionDetails: [{name: password, value: x, type: FromValue}]
    patches: [{fromFieldPath: spec.regoin, toFieldPath: spec.id}]
`);
  expect(code).toBe(1);
  expect(stdout).toMatch(/patches\[0\].fromFieldPath: spec.regoin: .*did you mean region\? \(.*resources.yaml:10:16\)/);
});
