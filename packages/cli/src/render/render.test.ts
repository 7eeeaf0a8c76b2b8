import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { type Finished, runXfn } from "../../testing/run-xfn.ts";

// Compositions of templates alone, which need no container.

let dir: string;
let files: string[];

beforeAll(() => {
  dir = temporaryFolder();
  files = [write("xr.yaml", XR), write("composition.yaml", composition(TEMPLATE))];
});

const XR = "apiVersion: example.org/v1\nkind: XThing\nmetadata: {name: thing}\nspec: {size: 3}\n";
const TEMPLATE = `  resources:
  - name: a
    base: {apiVersion: v1, kind: ConfigMap, data: {}}
    patches:
    - {fromFieldPath: spec.region, toFieldPath: data.region}
    connectionDetails:
    - {name: user, value: admin}
`;
const ENVIRONMENT = `  environment:
    environmentConfigs:
    - {type: Reference, ref: {name: prod}}
  resources:
  - name: a
    base: {apiVersion: v1, kind: ConfigMap, data: {}}
    patches:
    - {type: FromEnvironmentFieldPath, fromFieldPath: zone, toFieldPath: data.zone}
`;
const CONFIG =
  "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: EnvironmentConfig\nmetadata: {name: prod}\ndata: {zone: z1}\n";
const OBSERVED =
  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, annotations: {crossplane.io/composition-resource-name: a}}\ndata: {a: b}\n";

function composition(spec: string): string {
  return `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: things}
spec:
  compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}
${spec}`;
}

function definition(kind: string, keys = "[user]"): string {
  return `---
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: ${kind.toLowerCase()}s.example.org}
spec:
  group: example.org
  names: {kind: ${kind}, plural: ${kind.toLowerCase()}s}
  connectionSecretKeys: ${keys}
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
              size: {type: integer}
              region:
                type: string
                default: eu
                x-kubernetes-validations: [{rule: "self != 'mars'", message: no such place}]
`;
}

function write(name: string, content: string): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

// This folder cannot be created, so that no image store can be opened.
const render = (...args: string[]): Promise<Finished> => runXfn(["render", ...args, "--cache-dir", "/dev/null/store"]);

describe("a composition of templates alone", () => {
  test("is rendered without opening the image store", async () => {
    const { code, stdout, stderr } = await render(...files);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("crossplane.io/composition-resource-name: a\n");
    expect(existsSync("/dev/null/store")).toBe(false);
  });

  test("needs the store if it has functions", async () => {
    const functions = `${TEMPLATE}  functions:\n  - {name: f, type: Container, container: {image: x}}\n`;
    const { code, stderr } = await render(files[0] ?? "", write("functions.yaml", composition(functions)));
    expect(code).toBe(1);
    expect(stderr).toContain("--cache-dir");
  });

  test("may use from and to, like an early draft of Crossplane", async () => {
    const seed = composition(TEMPLATE)
      .replace("extensions.crossplane.io/v1", "extensions.crossplane.io/v1alpha1")
      .replace("compositeTypeRef:", "from:")
      .replace("resources:\n  - name: a\n    base", "to:\n  - base");
    const { code, stdout } = await render(files[0] ?? "", write("seed.yaml", seed));
    expect(code).toBe(0);
    expect(stdout).toContain("crossplane.io/composition-resource-name: template-0\n");
  });

  test("reports a template that failed, and prints the other resources", async () => {
    const broken = `${TEMPLATE}  - name: b
    base: {apiVersion: v1, kind: ConfigMap}
    patches:
    - {fromFieldPath: spec.nope, toFieldPath: data.x, policy: {fromFieldPath: Required}}
`;
    const { code, stdout, stderr } = await render(files[0] ?? "", write("broken.yaml", composition(broken)));
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^xfn: warning: composed resource "b": cannot be rendered: spec\.resources\[1]\.patches\[0]: /,
    );
    expect(stdout).toContain("Unready resources: a, b");
  });

  test("is printed as one JSON list with --output json, of which -o json is the short form", async () => {
    const observed = write("observed-json.yaml", OBSERVED);
    const long = await render(...files, "-o", observed, "--output", "json");
    expect(JSON.parse(long.stdout)).toMatchObject({ kind: "List", items: [{ kind: "XThing" }, { kind: "ConfigMap" }] });
    // -o is the flag of observed resources too.
    for (const short of [["-o", "json"], ["-ojson"]]) {
      expect(await render(...files, "-o", observed, ...short)).toEqual(long);
      expect(await render(...files, ...short, "-o", observed)).toEqual(long);
    }
    expect(await render(...files, "-o", "yaml")).toEqual(await render(...files));
  });

  test.each([[[]], [["-x"]], [["--output", "json"]], [["-r", "-x"]]])(
    "takes its own output as the observed resources (%j)",
    async (flags) => {
      const once = await render(...files, ...flags);
      const observed = write("once.yaml", once.stdout);
      expect(await render(...files, ...flags, "-o", observed)).toEqual(once);
    },
  );

  test("reads a List, or JSON without separators, wherever it reads a file", async () => {
    const list = (text: string): string =>
      `apiVersion: v1\nkind: List\nitems:\n- ${text.trimEnd().replaceAll("\n", "\n  ")}\n`;
    const given = [list(XR), list(composition(ENVIRONMENT))].map((text, index) => write(`list-${index}.yaml`, text));
    const environment = write("environments.yaml", list(CONFIG));
    const observed = write("observed.json", '{"kind": "List", "items": []}{"kind": "ConfigMapList", "items": null}');
    const { code, stdout, stderr } = await render(
      ...given,
      "--environment",
      environment,
      "-o",
      observed,
      "--xrd",
      write("xrd.yaml", list(definition("XThing").replace("---\n", ""))),
    );
    expect(code).toBe(0);
    // The position of a warning is that in the list.
    expect(stderr).toMatch(/list-1\.yaml:12:5: spec\.resources: /);
    expect(stdout).toContain("zone: z1\n");
  });

  const PIPELINE = "  pipeline:\n  - {step: a, functionRef: {name: f}}\n";

  test.each([
    [
      "of a package",
      "  mode: Pipeline\n  pipeline:\n  - step: a\n    functionRef: {name: f}\n    credentials: [{name: c, source: Secret, secretRef: {namespace: n1, name: s}}]\n",
    ],
    [
      "of a webhook",
      '  functions:\n  - {name: a, type: Webhook, webhook: {url: "https://localhost:1", credentials: {secretRef: {namespace: n1, name: s}}}}\n',
    ],
  ])("names --function-credentials if the credentials %s are missing", async (_, spec) => {
    const functions =
      "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f, annotations: {render.crossplane.io/runtime: Development}}\n";
    const args = spec.includes("pipeline") ? [write("development.yaml", functions)] : [];
    const { code, stderr } = await render(files[0] ?? "", write("credentials.yaml", composition(spec)), ...args);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/no Secret n1\/s .*--function-credentials/),
    });
  });

  test("in mode Pipeline with a Function that FUNCTIONS lacks is exit code 1, and the message names the step", async () => {
    const path = write("pipeline.yaml", composition(`  mode: Pipeline\n${PIPELINE}`));
    const other = write(
      "other-functions.yaml",
      "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: g}\n",
    );
    const { code, stdout, stderr } = await render(files[0] ?? "", path, other);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain('step "a": there is no Function of this name in FUNCTIONS, which has: g');
  });

  test("in mode Pipeline without FUNCTIONS is exit code 1, and the message asks for it", async () => {
    const path = write("pipeline.yaml", composition(`  mode: Pipeline\n${PIPELINE}`));
    const { code, stdout, stderr } = await render(files[0] ?? "", path);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain('step "a": its package is unknown: add FUNCTIONS');
  });

  test.each(["--crossplane-binary", "--crossplane-version"])(
    "takes crossplane render's %s with a warning",
    async (flag) => {
      const { code, stderr } = await render(...files, flag, "v2");
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: `xfn: warning: ${flag} has no effect: xfn itself renders\n`,
      });
    },
  );

  test("with steps and no mode Pipeline is exit code 1, as is another kind of XR", async () => {
    const { code, stderr } = await render(files[0] ?? "", write("no-mode.yaml", composition(PIPELINE)));
    expect(code).toBe(1);
    expect(stderr).toContain("set spec.mode");
    const other = write("other.yaml", XR.replace("XThing", "XOther"));
    const path = write("pipeline.yaml", composition(`  mode: Pipeline\n${PIPELINE}`));
    expect(await render(other, path)).toMatchObject({ code: 1, stdout: "" });
  });

  test("in mode Pipeline whose function does not listen is exit code 1, and the message names the target", async () => {
    const path = write("pipeline.yaml", composition(`  mode: Pipeline\n${PIPELINE}`));
    const annotations =
      "{render.crossplane.io/runtime: Development, render.crossplane.io/runtime-development-target: 127.0.0.1:1}";
    const functions = write(
      "functions.yaml",
      `apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f, annotations: ${annotations}}\nspec: {package: x.y/z}\n`,
    );
    const { code, stdout, stderr } = await render(files[0] ?? "", path, functions);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("cannot connect to 127.0.0.1:1");
  });

  test("in mode Pipeline with the port 0 of a function is exit code 2, and the message names the annotation", async () => {
    const path = write("pipeline.yaml", composition(`  mode: Pipeline\n${PIPELINE}`));
    const annotations =
      "{render.crossplane.io/runtime: Development, render.crossplane.io/runtime-development-target: 127.0.0.1:0}";
    const functions = write(
      "functions.yaml",
      `apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: f, annotations: ${annotations}}\nspec: {package: x.y/z}\n`,
    );
    const { code, stderr } = await render(files[0] ?? "", path, functions);
    expect(stderr).toMatch(
      /runtime-development-target must be HOST:PORT.*port from 1 to 65535, not "127.0.0.1:0"\n.*functions.yaml:1:1/,
    );
    expect(code).toBe(2);
  });

  test.each([
    ["--context-values", "nothing"],
    ["--context-files", "key=/no/such/file"],
    ["--runner", "unix:/x"],
  ])("in mode Pipeline with %s %s is exit code 2", async (flag, value) => {
    const path = write("pipeline.yaml", composition(`  mode: Pipeline\n${PIPELINE}`));
    const { code, stderr } = await render(files[0] ?? "", path, flag, value);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^xfn: /);
  });
});

describe("--xrd", () => {
  test("applies the defaults of the XR's definition, found among others", async () => {
    const xrd = write("xrd.yaml", definition("XOther") + definition("XThing"));
    const { code, stdout, stderr } = await render(...files, "--xrd", xrd);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("region: eu\n");
  });

  test("of another kind is exit code 2, and the message names that kind", async () => {
    const { code, stdout, stderr } = await render(...files, "--xrd", write("other.yaml", definition("XOther")));
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("defines XOther of example.org, not XThing of example.org/v1");
  });

  test("without a definition is exit code 2", async () => {
    const { code, stderr } = await render(...files, "--xrd", files[0] ?? "");
    expect(code).toBe(2);
    expect(stderr).toContain("has no document of kind CompositeResourceDefinition");
  });

  test("of an XR that its schema refuses is exit code 2, with the positions of all that is wrong", async () => {
    const xrd = write("strict.yaml", definition("XThing"));
    const xr = write("wrong-xr.yaml", XR.replace("{size: 3}", "\n  size: big\n  regoin: us"));
    const { code, stdout, stderr } = await render(xr, files[1] ?? "", "--xrd", xrd);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/wrong-xr\.yaml:5:3: spec\.size: .*must be of type integer/);
    expect(stderr).toMatch(/wrong-xr\.yaml:6:3: spec\.regoin: Invalid value: "regoin": unknown field/);
    const rule = await render(write("mars.yaml", XR.replace("3", "3, region: mars")), files[1] ?? "", "--xrd", xrd);
    expect(rule).toMatchObject({ code: 2, stdout: "" });
    expect(rule.stderr).toMatch(/mars\.yaml:4:17: spec\.region: Invalid value: .*no such place/);
    const status = write("status.yaml", `${XR}status: {before: 1}\n`);
    const warned = await render(status, files[1] ?? "", "--xrd", xrd);
    expect(warned.code).toBe(0);
    expect(warned.stderr).toMatch(
      /status\.yaml:5:10: status\.before: .* unknown field: "before"; an API server drops it/,
    );
  });

  test("with rules that cannot be evaluated still renders, and says that the XR is not validated", async () => {
    const xrd = write("no-cel.yaml", definition("XThing").replace("self != 'mars'", "self.nonsense("));
    const { code, stdout, stderr } = await render(...files, "--xrd", xrd);
    expect(code).toBe(0);
    expect(stdout).toContain("region: eu\n");
    expect(stderr).toMatch(/no-cel\.yaml:\d+:\d+: .*the composite resource is not validated/);
  });

  test("warns about connection details that are not in its connection keys, with their position", async () => {
    const xrd = write("keys.yaml", definition("XThing", "[password]"));
    const { code, stderr } = await render(...files, "--xrd", xrd);
    expect(code).toBe(0);
    expect(stderr).toMatch(/composition\.yaml:\d+:\d+: .*"password"/);
    expect(stderr).toMatch(/composition\.yaml:\d+:\d+: spec\.resources\[0]\.connectionDetails\[0]: "user"/);
  });
});

describe("--environment", () => {
  test("gives the EnvironmentConfigs from which the composition selects", async () => {
    const config = write("environment.yaml", CONFIG);
    const paths = [files[0] ?? "", write("with-environment.yaml", composition(ENVIRONMENT))];
    expect((await render(...paths, "--environment", config)).stdout).toContain("zone: z1\n");
    const without = await render(...paths);
    expect(without).toMatchObject({ code: 2, stdout: "" });
    expect(without.stderr).toContain("--environment");
  });

  test.each([
    ["another kind", XR, "expected only EnvironmentConfig objects"],
    ["no name", CONFIG.replace("name: prod", ""), "has no metadata.name"],
    ["a name twice", `${CONFIG}---\n${CONFIG}`, 'two EnvironmentConfigs have the name "prod"'],
  ])("with %s is exit code 2", async (_, content, message) => {
    const { code, stderr } = await render(...files, "--environment", write("wrong.yaml", content));
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  test("and another file cannot both be stdin", async () => {
    expect(await render("-", files[1] ?? "", "--environment", "-")).toMatchObject({ code: 2 });
  });
});

describe("--trace", () => {
  test("reports on stderr which step set each field, without a change of stdout", async () => {
    const plain = await render(...files);
    // Directly before the XR, which must not be read as a form.
    const traced = await render("--trace", ...files);
    expect(traced).toMatchObject({ code: 0, stdout: plain.stdout });
    expect(traced.stderr).toContain("Trace of XThing thing");
    expect((await render(...files, "--trace=json")).stderr).toMatch(/^\{\n {2}"version": 1,/);
  });

  test("hides what looks like a secret, unless --not-secret names it", async () => {
    const details = TEMPLATE.replace("base: {", "base: {endpointToken: not-a-secret, ");
    const path = write("token.yaml", composition(details));
    const token = async (...args: string[]): Promise<boolean> =>
      (await render(files[0] ?? "", path, "--trace=json", ...args)).stderr.includes("not-a-secret");
    expect([await token(), await token("--not-secret", "endpointToken")]).toEqual([false, true]);
  });

  test("goes to the file of --trace-file, whose name chooses the form", async () => {
    const file = join(dir, "trace.json");
    const { code, stderr } = await render(...files, "--trace-file", file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: `xfn: trace written to ${file}\n` });
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ version: 1, steps: [{ name: "templates" }] });
    await render("--trace", ...files, "--trace-file", file);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ version: 1 });
    expect(await render(...files, "--trace-file", "-")).toMatchObject({ code: 2, stdout: "" });
  });

  test("is written before the error of a failed run", async () => {
    const up = TEMPLATE.replace(
      "- {fromFieldPath: spec.region",
      "- {type: ToCompositeFieldPath, fromFieldPath: data.a.b",
    );
    const paths = [files[0] ?? "", write("up.yaml", composition(up))];
    const observed = write("observed.yaml", OBSERVED);
    const { code, stdout, stderr } = await render(...paths, "-o", observed, "--trace");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^Trace of .*TemplatesFailed.*\nxfn: the Composition's templates cannot be rendered/s);
  });

  test("that cannot be written is exit code 1", async () => {
    expect(await render(...files, "--trace-file", "/dev/null/trace.txt")).toMatchObject({ code: 1 });
  });
});
