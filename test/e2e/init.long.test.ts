import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { beforeAll, describe, expect, test } from "vitest";
import { XFN_MAIN } from "../harness/paths.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

let folder = "";

beforeAll(() => {
  folder = temporaryFolder();
});

interface Ended {
  readonly status: number | null;
  readonly output: string;
}

function run(program: string, args: readonly string[], cwd = folder): Ended {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}` };
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
}

const xfn = (...args: string[]): Ended => run(process.execPath, [XFN_MAIN, ...args]);

function expectSuccess({ status, output }: Ended): void {
  expect(status, output).toBe(0);
}

describe("xfn init", { timeout: 300_000 }, () => {
  test("makes a project whose own scripts work, with nothing else than npm", () => {
    expectSuccess(xfn("init", "shop-api", "--template", "project"));
    const project = join(folder, "shop-api");
    expectSuccess(run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], project));
    for (const script of ["test", "check", "validate", "types"]) expectSuccess(run("npm", ["run", script], project));
    expect(run("npm", ["run", "types"], project).status).toBe(0);
  });

  test.each(["function", "composition"])("makes a %s whose tests and types pass", (template) => {
    expectSuccess(xfn("init", `a-${template}`, "--template", template));
    const project = join(folder, `a-${template}`);
    symlinkSync(join(folder, "shop-api", "node_modules"), join(project, "node_modules"));
    for (const script of ["test", "check", "validate"]) expectSuccess(run("npm", ["run", script], project));
  });

  test.each(["commonjs", undefined])("makes a function whose types pass with the type %s in package.json", (type) => {
    const project = join(folder, "a-function");
    const file = join(project, "package.json");
    const before = readFileSync(file, "utf8");
    try {
      writeFileSync(file, JSON.stringify({ ...(JSON.parse(before) as object), type }));
      for (const script of ["test", "check"]) expectSuccess(run("npm", ["run", script], project));
    } finally {
      writeFileSync(file, before);
    }
  });

  test("makes a function that answers by itself, and a project that refuses an older Node", () => {
    const project = join(folder, "a-function");
    const xr = { apiVersion: "example.org/v1", kind: "XAFunction", metadata: { name: "x" }, spec: { names: ["ada"] } };
    const io = {
      apiVersion: "apiextensions.crossplane.io/v1alpha1",
      kind: "FunctionIO",
      observed: { composite: { resource: xr } },
    };
    const { status, stdout } = spawnSync(process.execPath, ["function.ts"], {
      cwd: project,
      input: JSON.stringify(io),
      encoding: "utf8",
    });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ desired: { resources: [{ name: "greeting-ada" }] } });
    const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as Record<string, unknown>;
    expect(manifest["engines"]).toEqual({ node: ">=24" });
    expect(readFileSync(join(project, ".npmrc"), "utf8")).toContain("engine-strict=true");
    expect(manifest["scripts"]).toMatchObject({ dev: "xfn render xr.yaml composition.yaml --watch" });
  });

  test("writes the types that `xfn types` writes", () => {
    const project = join(folder, "a-function");
    const written = readFileSync(join(project, "types.ts"), "utf8");
    expectSuccess(run(process.execPath, [XFN_MAIN, "types", "definition.yaml", "-o", "types.ts"], project));
    expect(readFileSync(join(project, "types.ts"), "utf8")).toBe(written);
  });
});

describe("xfn init refuses", () => {
  test.each([
    ["a name that Kubernetes does not take", ["init", "Shop_API"], "lower case"],
    ["a template that does not exist", ["init", "other", "--template", "provider"], "function, composition, project"],
  ])("%s, and leaves nothing", (_, args, message) => {
    const before = readdirSync(folder);
    const { status, output } = xfn(...args);
    expect(status).toBe(2);
    expect(output).toContain(message);
    expect(readdirSync(folder)).toEqual(before);
  });

  test("a folder with files in it, and leaves them", () => {
    mkdirSync(join(folder, "full"));
    writeFileSync(join(folder, "full", "file"), "mine");
    expect(xfn("init", "full")).toMatchObject({ status: 2, output: expect.stringContaining("is not empty") });
    expect(readdirSync(join(folder, "full"))).toEqual(["file"]);
  });
});
