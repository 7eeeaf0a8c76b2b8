import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/harness/temporary-folder.ts";
import { type Finished, runXfn } from "../testing/run-xfn.ts";

let dir: string;

beforeAll(() => {
  dir = temporaryFolder();
  write("xr.yaml", "apiVersion: example.org/v1\nkind: XThing\nmetadata:\n  name: thing\n");
  write("composition.yaml", COMPOSITION);
  write("io.yaml", "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: FunctionIO\nobserved: {}\n");
});

const COMPOSITION = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: things
spec:
  compositeTypeRef:
    apiVersion: example.org/v1
    kind: XThing
  functions:
  - name: first
    type: Container
    container:
      image: registry.example.org/first:v1
`;

const TEMPLATES = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata:
  name: things
spec:
  compositeTypeRef:
    apiVersion: example.org/v1
    kind: XThing
  resources:
  - name: a
    base:
      apiVersion: v1
      kind: ConfigMap
`;

const ALIAS_BOMB = Array.from({ length: 12 }, (_, level) => {
  const inner =
    level === 0
      ? "x"
      : Array(10)
          .fill(`*a${level - 1}`)
          .join(", ");
  return `a${level}: &a${level} [${inner}]\n`;
}).join("");

function write(name: string, content: string | Uint8Array): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

const run = (...args: string[]): Promise<Finished> => runXfn(args);

// A separate store, so that the user's is not changed.
const render = (...args: string[]): Promise<Finished> => run("render", ...args, "--cache-dir", join(dir, "store"));

test("xpkg extract reads FILE.xpkg as a file", async () => {
  const { code, stderr } = await run("xpkg", "extract", join(dir, "none.xpkg"));
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `xfn: cannot read ${join(dir, "none.xpkg")}: there is no such file\n`,
  });
});

test("--trace takes a form with a space, too, and never the name of a file", async () => {
  const files = [join(dir, "xr.yaml"), join(dir, "templates.yaml")];
  write("templates.yaml", TEMPLATES);
  const { code, stderr } = await run("render", ...files, "--trace", "json");
  expect(code).toBe(0);
  expect(JSON.parse(stderr)).toMatchObject({ composition: "things" });
  expect(await run("render", "--trace", ...files)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("things"),
  });
});

describe("usage", () => {
  test("the README has a row for each command", async () => {
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const { stdout } = await run("--help");
    const commands = [...stdout.slice(stdout.indexOf("Commands:")).matchAll(/^ {2}([a-z]+) /gm)].map(
      ([, name]) => name,
    );
    expect(commands).toContain("render");
    const missing = commands.filter(
      (name) => name !== "help" && !new RegExp(`^\\| .*\`xfn ${name}\\b`, "m").test(readme),
    );
    expect(missing).toEqual([]);
  });

  test.each([
    ["an unknown command", ["rendr"], /unknown command.*\n.*render/],
    ["a command of crossplane beta", ["beta", "render"], /unknown command.*\n.*without that word/],
    ["an unknown conversion", ["convert", "pipeline-compositions"], /unknown command.*\n?.*pipeline-composition/],
    ["xpkg init of a function", ["xpkg", "init", "f", "function"], /one of configuration, provider.*\n.*`xfn init`/],
    ["xpkg init of a repository", ["xpkg", "init", "f", "https://a.example/b"], /TEMPLATE must be.*\n.*git clone/],
    ["xpkg init with a bad name", ["xpkg", "init", "F_", "provider"], /NAME "F_" must be/],
    ["xpkg install of an unknown kind", ["xpkg", "install", "bundle", "a.example/b:v1"], /KIND must be one of/],
    ["xpkg install without a registry", ["xpkg", "install", "provider", "acme/b:v1"], /PACKAGE must be REGISTRY/],
    ["xpkg install without a tag", ["xpkg", "install", "provider", "a.example/acme/b"], /PACKAGE must be REGISTRY/],
    ["xpkg install with a bad name", ["xpkg", "install", "provider", "a.example/b:v1", "B"], /NAME "B" must be/],
    [
      "xpkg install of a configuration with a runtime",
      ["xpkg", "install", "configuration", "a.example/b:v1", "--runtime-config", "x"],
      /--runtime-config cannot be used/,
    ],
    [
      "xpkg update without a kubeconfig",
      ["xpkg", "update", "provider", "a.example/b:v1", "--kubeconfig", "/absent/config"],
      /\/absent\/config/,
    ],
    ["an unknown option", ["render", "a", "b", "--nope"], /unknown option '--nope'/],
    ["a missing argument", ["render", "a"], /missing required argument 'composition'/],
    ["a bad duration", ["render", "xr", "comp", "--timeout", "soon"], /--timeout/],
    ["a zero duration", ["render", "xr", "comp", "--timeout", "0s"], /--timeout/],
    ["a bad pull policy", ["render", "xr", "comp", "--pull", "Sometimes"], /IfNotPresent, Always, Never/],
    ["a bad network", ["run", "image", "--network", "Everything"], /Isolated, Accessible/],
    ["a bad quantity", ["run", "image", "--memory", "64Mibi"], /--memory/],
    ["zero memory", ["run", "image", "--memory", "0"], /--memory: "0" must be greater than zero/],
    ["a build without a name", ["build"], /--tag/],
    ["a build with a digest as name", ["build", ".", "-t", `x@sha256:${"0".repeat(64)}`], /-t requires a name/],
    ["a build with a bad name", ["build", ".", "-t", "Upper/Case"], /-t:/],
    ["an output that is not a layout", ["build", ".", "-t", "x", "-o", "image.tar"], /oci:DIR/],
  ])("%s is exit code 2, with one message and nothing on stdout", async (_, args, message) => {
    const { code, stdout, stderr } = await run(...args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^xfn: /);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test.each([
    ["-e", "x.yaml"],
    ["--required-resources", "x.yaml"],
    ["--extra-resources", "x.yaml"],
    ["-s", "schemas"],
    ["--required-schemas", "schemas"],
    ["--function-credentials", "x.yaml"],
    ["--context-files", "a=b"],
    ["--context-values", "a=b"],
    ["-c"],
    ["--include-context"],
  ])("crossplane render's %s is refused with the reason", async (...flag) => {
    const { code, stderr } = await render(join(dir, "xr.yaml"), join(dir, "composition.yaml"), ...flag);
    expect(code).toBe(2);
    expect(stderr).toMatch(/cannot be used: .{20,}/);
  });

  test("help goes to stdout with exit code 0", async () => {
    const help = await Promise.all(["render", "run", "build", "types", "doctor"].map((name) => run(name, "--help")));
    expect(help.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
    for (const { stdout, stderr } of help) {
      expect(stdout).toMatch(/^Usage: xfn .*Example:\n {2}\$ xfn /s);
      expect(stderr).toBe("");
      // Examples are commands to copy.
      const lines = stdout.split("\n").filter((line) => !line.startsWith("  $ "));
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
    }
  });

  test("the version goes to stdout", async () => {
    expect(await run("--version")).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});

describe("input", () => {
  test("an XR that does not match the composition is exit code 2, and the message has both kinds", async () => {
    const xr = write("other.yaml", "apiVersion: example.org/v1\nkind: XOther\nmetadata: {name: a}\n");
    const { code, stdout, stderr } = await render(xr, join(dir, "composition.yaml"));
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("XThing");
    expect(stderr).toContain("XOther");
  });

  test.each([
    ["malformed YAML", "a: [1, 2\nb: 3\n", /bad-xr\.yaml:\d+:\d+: /],
    ["an alias bomb", ALIAS_BOMB, /bad-xr\.yaml/],
    ["deep nesting", "[".repeat(100_000), /bad-xr\.yaml/],
    ["no text", new Uint8Array([0xff, 0xfe, 0x00, 0x80]), /bad-xr\.yaml/],
    ["an empty file", "", /is empty/],
    ["a list", "- a\n- b\n", /is not an object/],
    ["two documents", "a: 1\n---\nb: 2\n", /2 documents/],
    ["an object without a name", "apiVersion: example.org/v1\nkind: XThing\n", /metadata\.name/],
  ])("%s as XR is exit code 2 and names the file", async (_, content, message) => {
    const { code, stdout, stderr } = await render(write("bad-xr.yaml", content), join(dir, "composition.yaml"));
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test("lists all faults of a composition with line and column", async () => {
    const path = write(
      "bad-composition.yaml",
      COMPOSITION.replace("name: first", "name: [1]").replace("image:", "imago:"),
    );
    const { code, stderr } = await render(join(dir, "xr.yaml"), path);
    expect(code).toBe(2);
    expect(stderr.match(/^.*bad-composition\.yaml:\d+:\d+: spec\.functions.*$/gm)?.length).toBeGreaterThanOrEqual(2);
  });

  test("a misspelt optional field is a warning with its position", async () => {
    const path = write("odd-composition.yaml", COMPOSITION.replace("      image:", "      tiemout: 1s\n      image:"));
    const xr = write("other-kind.yaml", "apiVersion: example.org/v1\nkind: XOther\nmetadata: {name: a}\n");
    const { stderr } = await render(xr, path);
    expect(stderr).toMatch(/^xfn: warning: .*odd-composition\.yaml:13:\d+: .*tiemout/m);
  });

  test.each([
    ["a missing file", "missing.yaml", /there is no such file/],
    ["a folder", ".", /is a folder/],
    ["a link to itself", "loop.yaml", /form a cycle/],
    ["a file without an end", "/dev/zero", /larger than/],
  ])("%s is exit code 2", async (_, path, message) => {
    rmSync(join(dir, "loop.yaml"), { force: true });
    symlinkSync("loop.yaml", join(dir, "loop.yaml"));
    const { code, stderr } = await render(path.startsWith("/") ? path : join(dir, path), join(dir, "composition.yaml"));
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  test("a folder of observed resources that links to itself is exit code 2", async () => {
    mkdirSync(join(dir, "observed"), { recursive: true });
    rmSync(join(dir, "observed", "again.yaml"), { force: true });
    symlinkSync("../observed/again.yaml", join(dir, "observed", "again.yaml"));
    const { code, stderr } = await render(
      join(dir, "xr.yaml"),
      join(dir, "composition.yaml"),
      "-o",
      join(dir, "observed"),
    );
    expect(code).toBe(2);
    expect(stderr).toMatch(/form a cycle/);
  });

  test("a folder without YAML files is exit code 2", async () => {
    mkdirSync(join(dir, "empty"), { recursive: true });
    const { code, stderr } = await render(
      join(dir, "xr.yaml"),
      join(dir, "composition.yaml"),
      "-o",
      join(dir, "empty"),
    );
    expect(code).toBe(2);
    expect(stderr).toMatch(/no YAML files/);
  });

  test("an observed resource without its name annotation is exit code 2", async () => {
    const path = write("observed.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    const { code, stderr } = await render(join(dir, "xr.yaml"), join(dir, "composition.yaml"), "-o", path);
    expect(code).toBe(2);
    expect(stderr).toContain("crossplane.io/composition-resource-name");
  });

  test("stdin cannot be two files", async () => {
    expect(await render("-", "-")).toMatchObject({ code: 2 });
  });

  test("escapes control characters of a file", async () => {
    const xr = write("hostile.yaml", 'apiVersion: example.org/v1\nkind: "\\e[2Jhidden"\nmetadata: {name: a}\n');
    const { stderr } = await render(xr, join(dir, "composition.yaml"));
    expect(stderr).toContain("hidden");
    expect(stderr).not.toContain("\u001b");
  });

  test("an invalid FunctionIO is exit code 2 with its position", async () => {
    const path = write("not-io.yaml", "apiVersion: v1\nkind: ConfigMap\n");
    const { code, stderr } = await run("run", "image", path, "--cache-dir", join(dir, "store"));
    expect(code).toBe(2);
    expect(stderr).toMatch(/not-io\.yaml:1:\d+: apiVersion/);
  });

  test("a build of a folder without a function reports the expected files", async () => {
    mkdirSync(join(dir, "nothing"), { recursive: true });
    const { code, stderr } = await run("build", join(dir, "nothing"), "-t", "x", "--cache-dir", join(dir, "store"));
    expect(code).toBe(2);
    expect(stderr).toMatch(/function\.ts/);
  });

  test("types of another document than a definition is exit code 2", async () => {
    const { code, stderr } = await run("types", join(dir, "xr.yaml"));
    expect(code).toBe(2);
    expect(stderr).toMatch(/no definition.*\n.*xr\.yaml:1:1/);
  });

  test("types of a folder reads the definitions of its subfolders, and ignores Compositions", async () => {
    const folder = join(dir, "apis");
    mkdirSync(join(folder, "things", "v1"), { recursive: true });
    writeFileSync(
      join(folder, "things", "definition.yaml"),
      `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xthings.example.org}
spec:
  group: example.org
  names: {kind: XThing, plural: xthings}
  versions:
  - {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}
`,
    );
    writeFileSync(
      join(folder, "things", "v1", "composition.yaml"),
      "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec: {compositeTypeRef: {apiVersion: example.org/v1, kind: XThing}}\n",
    );
    const { code, stdout } = await run("types", folder);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("export interface XThing {") });
  });
});
