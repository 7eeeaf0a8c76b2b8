import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { writeInstallers } from "../../scripts/release/installers.ts";
import { archiveName, PLATFORMS } from "../../scripts/release/program-archives.ts";
import { tarball } from "../../scripts/release/tarball.ts";
import { buildKrew } from "../harness/go-program.ts";
import { needs } from "../harness/needs.ts";
import { temporaryFolder } from "../harness/temporary-folder.ts";

// The installers of a release, with archives of a small program. test/e2e/release.long.test.ts installs the real one.

const PROGRAM = '#!/bin/sh\necho "$0" "$@"\n';
const SYSTEM = { linux: "Linux", darwin: "Darwin" } as const;
const { x64, arm64 } = { x64: "x86_64", arm64: "arm64" };

/** Answers requests for files of releases, or what a test makes of them. */
let answer: ((file: string, response: ServerResponse) => void) | undefined;
const releases = temporaryFolder();
const server = createServer((request, response) => {
  const file = join(releases, (request.url ?? "").split("/").slice(-2).join("/"));
  if (answer !== undefined) answer(file, response);
  else if (existsSync(file)) response.end(readFileSync(file));
  else response.writeHead(404).end();
});
let repository: string;

/** Makes the archives and installers of a version. */
function makeRelease(version: string): void {
  const output = join(releases, `v${version}`);
  mkdirSync(output);
  for (const platform of PLATFORMS) {
    const name = archiveName(version, platform);
    mkdirSync(join(output, name, "bin"), { recursive: true });
    writeFileSync(join(output, name, "LICENSE"), "");
    for (const program of ["xfn", "kubectl-xfn"])
      writeFileSync(join(output, name, "bin", program), PROGRAM, { mode: 0o755 });
    tarball(output, name, join(output, `${name}.tar.gz`));
  }
  writeInstallers({ version, repository, output });
}

const file = (name: string, version = "1.2.3"): string => readFileSync(join(releases, `v${version}`, name), "utf8");

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  repository = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/org/xfn`;
  makeRelease("1.2.3");
  makeRelease("1.3.0");
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe("install.sh", () => {
  let home: string;

  beforeEach(() => {
    answer = undefined;
    home = temporaryFolder();
    mkdirSync(join(home, "tmp"));
  });

  interface Run {
    readonly system?: string;
    readonly machine?: string;
    readonly script?: string;
    readonly signal?: AbortSignal;
  }

  /** Runs the script, or a part of it, as from a pipe. */
  function install({ system = "Linux", machine = x64, script = file("install.sh"), signal }: Run = {}) {
    const tools = join(home, "tools");
    mkdirSync(tools, { recursive: true });
    writeFileSync(join(tools, "uname"), `#!/bin/sh\n[ "$1" = -s ] && echo ${system} || echo ${machine}\n`);
    chmodSync(join(tools, "uname"), 0o755);
    const env = { HOME: home, TMPDIR: join(home, "tmp"), PATH: `${tools}:${process.env["PATH"]}` };
    return new Promise<{ code: number | string; stdout: string; stderr: string }>((resolve) => {
      const child = execFile("sh", [], { env, cwd: home, signal, killSignal: "SIGTERM" }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
      child.stdin?.end(script);
    });
  }

  /** The files below the home, without the tools of this test. */
  const files = (): string[] =>
    readdirSync(home, { recursive: true, encoding: "utf8" })
      .filter((name) => !/^(?:tools|tmp$)/.test(name))
      .toSorted();

  test.each(PLATFORMS)("installs the program with completion on $os $cpu", async ({ os, cpu }) => {
    const ran = await install({ system: SYSTEM[os], machine: cpu === "x64" ? x64 : arm64 });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).toContain("export PATH=");
    expect(ran.stdout.includes("need Linux")).toBe(os === "darwin");
    expect(readlinkSync(join(home, ".local/bin/xfn"))).toBe(`../lib/xfn-1.2.3-${os}-${cpu}/bin/xfn`);
    expect(readFileSync(join(home, ".local/bin/kubectl-xfn"), "utf8")).toBe(PROGRAM);
    for (const [shell, path] of [
      ["bash", "bash-completion/completions/xfn"],
      ["zsh", "zsh/site-functions/_xfn"],
      ["fish", "fish/vendor_completions.d/xfn.fish"],
    ])
      expect(readFileSync(join(home, ".local/share", path ?? ""), "utf8")).toMatch(`bin/xfn completion ${shell}\n`);
    expect(readdirSync(join(home, "tmp"))).toEqual([]);
  });

  test("replaces another version, and repairs the same one", async () => {
    await install();
    await install({ script: file("install.sh", "1.3.0") });
    expect(readdirSync(join(home, ".local/lib"))).toEqual(["xfn-1.3.0-linux-x64"]);
    const program = join(home, ".local/lib/xfn-1.3.0-linux-x64/bin/xfn");
    writeFileSync(program, "broken");
    // As a killed installer leaves it.
    mkdirSync(join(home, ".local/lib/.xfn-install.abc"));
    expect(await install({ script: file("install.sh", "1.3.0") })).toMatchObject({ code: 0 });
    expect(readFileSync(program, "utf8")).toBe(PROGRAM);
    expect(readdirSync(join(home, ".local/lib"))).toEqual(["xfn-1.3.0-linux-x64"]);
  });

  test.each<[title: string, how: typeof answer, message: RegExp]>([
    [
      "a wrong checksum",
      (_, response) => response.end("another archive"),
      /the SHA-256 is \w{64}, not \w{64}; nothing/,
    ],
    ["a missing archive", (_, response) => response.writeHead(404).end(), /\.tar\.gz: the download failed; nothing/],
    [
      "a connection that breaks",
      (path, response) => {
        response.writeHead(200, { "content-length": readFileSync(path).length });
        response.write(readFileSync(path).subarray(0, 10), () => response.destroy());
      },
      /the download failed; nothing/,
    ],
  ])("changes nothing after %s", async (_, how, message) => {
    await install();
    const before = files();
    answer = how;
    const { code, stderr } = await install({ script: file("install.sh", "1.3.0") });
    expect([code, files()]).toEqual([1, before]);
    expect(stderr).toMatch(message);
    expect(readlinkSync(join(home, ".local/bin/xfn"))).toContain("1.2.3");
    expect(readdirSync(join(home, "tmp"))).toEqual([]);
  });

  test("leaves nothing when it is interrupted", async () => {
    const controller = new AbortController();
    answer = (path, response) => {
      response.write(readFileSync(path).subarray(0, 10));
      controller.abort();
    };
    await install({ signal: controller.signal });
    await expect.poll(() => readdirSync(join(home, "tmp"))).toEqual([]);
    expect(files()).toEqual([]);
  });

  test("does nothing when a part of the script arrives", async () => {
    const script = file("install.sh");
    const cuts = [...script.matchAll(/\n/g)].map(({ index }) => index).filter((index) => index < script.length - 1);
    for (const cut of cuts.filter((_, position) => position % 8 === 0 || position > cuts.length - 4))
      await install({ script: script.slice(0, cut) });
    expect(files()).toEqual([]);
  });

  test("names npm on a system without an archive", async () => {
    const { code, stderr } = await install({ system: "FreeBSD", machine: "amd64" });
    expect(code).toBe(1);
    expect(stderr).toBe(
      "install.sh: no archive for FreeBSD on amd64: use npm install -g @xfn/cli@1.2.3, which needs Node 24 or newer\n",
    );
  });

  test("keeps a program of another installer", async () => {
    mkdirSync(join(home, ".local/bin"), { recursive: true });
    writeFileSync(join(home, ".local/bin/xfn"), "mine");
    expect(await install()).toMatchObject({ code: 1, stderr: expect.stringContaining("not from this installer") });
    expect(files()).toEqual([".local", ".local/bin", ".local/bin/xfn"]);
  });
});

test("the formula has the archive of each platform with its checksum", () => {
  const formula = file("xfn.rb");
  const sums = new Map([...formula.matchAll(/url "(.*)"\n +sha256 "(\w+)"/g)].map(([, url, sum]) => [url, sum]));
  expect(sums.size).toBe(PLATFORMS.length);
  for (const [url, sum] of sums) {
    expect(url).toMatch(`${repository}/releases/download/v1.2.3/xfn-1.2.3-`);
    expect(file("install.sh")).toContain(`${sum}  ${url?.split("/").at(-1)}\n`);
  }
});

describe("the manifest of Krew", needs("krew"), () => {
  /** Runs Krew's check of its index, which also installs the plugin for each platform. */
  function validate(): Promise<string> {
    const { krew, validator } = buildKrew();
    const tools = temporaryFolder();
    writeFileSync(join(tools, "kubectl"), `#!/bin/sh\nshift\nexec "${krew}" "$@"\n`, { mode: 0o755 });
    const args = ["-manifest", join(releases, "v1.2.3/xfn.yaml")];
    const env = { HOME: tools, TMPDIR: tools, PATH: `${tools}:${process.env["PATH"]}` };
    return new Promise((resolve) => execFile(validator, args, { env }, (_, __, stderr) => resolve(stderr)));
  }

  test("passes the check of Krew's index, and installs", async () => {
    answer = undefined;
    expect(await validate()).toContain(`all ${PLATFORMS.length} spec.platforms installed fine`);
  });

  test("installs nothing with another checksum", async () => {
    answer = (_, response) => response.end("another archive");
    expect(await validate()).toContain("checksum does not match");
  });
});
