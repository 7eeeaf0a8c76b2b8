import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { CHECKOUT, XFN_MAIN } from "../harness/paths.ts";
import { buildShellFunction } from "../harness/shell-function.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";
import { Workspace } from "../harness/workspace.ts";

const PROGRAMS: Readonly<Record<string, string>> = {
  xfn: XFN_MAIN,
  "xfn-runner": join(CHECKOUT, "packages/runner/dist/program/main.js"),
  "xfn-controller": join(CHECKOUT, "packages/controller/dist/program/main.js"),
};

/** Responses of the API server by path. */
const ANSWERS: Readonly<Record<string, object>> = {
  "/apis": { groups: [{ name: "example.org", versions: [{ version: "v1" }], preferredVersion: { version: "v1" } }] },
  "/api/v1": { resources: [{ name: "namespaces", kind: "Namespace", namespaced: false }] },
  "/apis/example.org/v1": { resources: [{ name: "xdatabases", kind: "XDatabase", namespaced: false }] },
  "/apis/example.org/v1/xdatabases": list("example.org/v1", "XDatabase", ["orders"]),
  "/api/v1/namespaces": list("v1", "Namespace", ["default", "shop"]),
};

function list(apiVersion: string, kind: string, names: readonly string[]): object {
  const items = names.map((name) => ({ apiVersion, kind, metadata: { name, uid: name, resourceVersion: "1" } }));
  return { apiVersion, kind: `${kind}List`, metadata: { resourceVersion: "1" }, items };
}

let folder = "";
const scripts: Record<string, string> = {};

beforeAll(() => {
  folder = temporaryFolder();
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = spawnSync(process.execPath, [XFN_MAIN, "completion", shell], { encoding: "utf8" });
    scripts[shell] = join(folder, shell);
    writeFileSync(join(folder, shell), stdout);
  }
});

const LINES: [string, string[], string[]][] = [
  ["a command", ["xfn", "re"], ["render"]],
  ["a command of a command", ["xfn", "xpkg", "ex"], ["extract"]],
  ["a long flag", ["xfn", "render", "xr.yaml", "--observed"], ["--observed-resources"]],
  ["a flag of the right command only", ["xfn", "types", "--observed"], []],
];

function shell(program: string, args: string[], input?: string): string[] {
  const { stdout } = spawnSync(program, args, { encoding: "utf8", input, env: { ...process.env, HOME: folder } });
  return stdout.split("\n").filter((line) => line !== "");
}

describe("bash completes", () => {
  test.each(LINES)("%s", (_, words, expected) => {
    const line = `source ${scripts["bash"]}; COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _xfn`;
    expect(shell("bash", ["-c", `${line}; printf '%s\\n' "\${COMPREPLY[@]}"`])).toEqual(expected);
  });
});

describe("fish completes", needs("fish"), () => {
  test.each(LINES)("%s", (_, words, expected) => {
    const line = `source ${scripts["fish"]}; complete -C '${words.join(" ")}'`;
    expect(shell("fish", ["--no-config", "-c", line]).map((found) => found.split("\t")[0])).toEqual(expected);
  });
});

describe("zsh", needs("zsh"), () => {
  test("takes the script, and completes xfn with it", () => {
    const line = `autoload -U compinit && compinit -u; source ${scripts["zsh"]}; print $_comps[xfn]`;
    expect(shell("zsh", ["-f", "-c", line]).join()).toContain("_bash_complete");
  });
});

describe("values are completed", needs("crun"), () => {
  let workspace: Workspace;
  let server: Server;
  const env = (): NodeJS.ProcessEnv => ({
    ...workspace.environment(),
    PATH: `${workspace.path("bin")}:${process.env["PATH"]}`,
  });
  const run = async (command: readonly string[]): Promise<string[]> => {
    const { stdout } = await workspace.start(command, { env: env() }).finished;
    return stdout.split("\n").filter((line) => line !== "");
  };

  beforeAll(async () => {
    workspace = await Workspace.create();
    for (const [name, main] of Object.entries(PROGRAMS)) {
      await workspace.write(`bin/${name}`, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
      for (const one of ["bash", "zsh", "fish"])
        await workspace.write(
          `${name}.${one}`,
          (await run([workspace.path("bin", name), "completion", one])).join("\n"),
        );
    }
    await buildShellFunction(workspace);
    const { code, stderr } = await workspace.xfn(["build", workspace.path("shell"), "-t", "test/shell:v2"]);
    expect(code, stderr).toBe(0);
    server = createServer(({ url = "" }, response) => {
      const path = url.split("?")[0] ?? "";
      response.writeHead(path in ANSWERS ? 200 : 404, { "content-type": "application/json" });
      response.end(JSON.stringify(ANSWERS[path] ?? {}));
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const cluster = (name: string): object => ({ name, cluster: { server: `http://127.0.0.1:${port}` } });
    const context = (name: string): object => ({ name, context: { cluster: "here", namespace: "shop" } });
    const config = { clusters: [cluster("here")], contexts: [context("prod-eu"), context("prod-us"), context("test")] };
    await workspace.write("config", JSON.stringify({ ...config, "current-context": "test" }));
    await mkdir(workspace.path("folder"));
  });
  afterAll(async () => {
    server.close();
    await workspace[Symbol.asyncDispose]();
  });

  const VALUES: [string, string[], string[]][] = [
    ["an image of the store", ["xfn", "run", "test/s"], ["test/shell:latest", "test/shell:v2"]],
    [
      "an image after a flag with a value",
      ["xfn", "run", "--timeout", "5s", "test/s"],
      ["test/shell:latest", "test/shell:v2"],
    ],
    ["an image to remove", ["xfn", "images", "rm", "test/shell:v"], ["test/shell:v2"]],
    ["an image of the runner", ["xfn-runner", "run", "test/s"], ["test/shell:latest", "test/shell:v2"]],
    ["the words of a flag", ["xfn", "render", "--output", ""], ["json", "yaml"]],
    ["the words of a short flag", ["xfn", "trace", "-o", "w"], ["wide"]],
    ["the words of an argument", ["xfn", "completion", "z"], ["zsh"]],
    ["the words of the runner's flag", ["xfn-runner", "run", "--rootfs", "over"], ["overlay"]],
    ["a context", ["xfn", "trace", "--kubeconfig", "config", "--context", "prod"], ["prod-eu", "prod-us"]],
    ["a context of the controller", ["xfn-controller", "start", "--kubeconfig", "config", "--context", "t"], ["test"]],
    ["a namespace", ["xfn", "trace", "--kubeconfig", "config", "-n", ""], ["default", "shop"]],
    [
      "a namespace of the controller",
      ["xfn-controller", "start", "--kubeconfig", "config", "--namespace", "s"],
      ["shop"],
    ],
    ["a kind of the cluster", ["xfn", "trace", "--kubeconfig", "config", "xd"], ["xdatabases.example.org"]],
    ["an object of the kind", ["xfn", "trace", "--kubeconfig", "config", "xdatabases.example.org", ""], ["orders"]],
    ["nothing of a cluster that does not answer", ["xfn", "rollout", "--kubeconfig", "nowhere", "a"], []],
    ["a folder", ["xfn", "render", "--cache-dir", "fol"], ["folder"]],
    ["a command of the runner", ["xfn-runner", "hea"], ["healthcheck"]],
    ["a flag of the controller", ["xfn-controller", "start", "--lease-d"], ["--lease-duration"]],
  ];

  test.each(VALUES)("bash: %s", async (_, words, expected) => {
    const [program = ""] = words;
    // As bash does: it also splits at colons.
    const split = words.flatMap((word) =>
      word === "" ? [""] : word.split(/(:)/).filter((part, index) => part !== "" || index === 0),
    );
    const line = words.join(" ");
    const quoted = split.map((word) => `'${word}'`).join(" ");
    const script = `source ${program}.bash; COMP_WORDS=(${quoted}); COMP_CWORD=${split.length - 1}; COMP_LINE='${line}'; COMP_POINT=${line.length}
      _${program.replaceAll("-", "_")}; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const typed = words.at(-1) ?? "";
    // Only what follows the last colon is inserted.
    const inserted = expected.map((one) => one.slice(typed.lastIndexOf(":") + 1)).filter((one) => one !== "");
    expect((await run(["bash", "-c", script])).toSorted()).toEqual(inserted);
  });

  test.each(VALUES)("fish: %s", needs("fish"), async (_, words, expected) => {
    const [program = ""] = words;
    const quoted = words.map((word) => word.replaceAll("'", "")).join(" ");
    const found = await run(["fish", "--no-config", "-c", `source ${program}.fish; complete -C '${quoted}'`]);
    const values = found.map((line) => line.split("\t")[0] ?? "").map((value) => value.replace(/\/$/, ""));
    if (expected.length === 0) expect(values.filter((value) => value.includes("."))).toEqual(values);
    else expect(values).toEqual(expect.arrayContaining(expected));
  });

  test.each(Object.keys(PROGRAMS))("zsh takes the script of %s", needs("zsh"), async (program) => {
    const line = `autoload -U compinit && compinit -u; source ${program}.zsh; print $_comps[${program}]`;
    expect((await run(["zsh", "-f", "-c", line])).join()).toContain("_bash_complete");
  });
});

test("another shell is refused with the names of those that work", () => {
  const { status, stderr } = spawnSync(process.execPath, [XFN_MAIN, "completion", "powershell"], { encoding: "utf8" });
  expect(status).toBe(2);
  expect(stderr).toContain("bash, zsh, fish");
});
