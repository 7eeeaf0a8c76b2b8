import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { RegistryAuth } from "@xfn/runner-contract";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import { takeLock } from "../base/link-lock.ts";
import { ownName } from "../base/process-identity.ts";
import { changeAuths } from "./auths-file.ts";
import { dockerCredentials } from "./docker-config.ts";
import { removeCredentials, storeCredentials } from "./stored-credentials.ts";

let box: Sandbox;
let env: Record<string, string>;
beforeEach(() => {
  box = sandbox();
  env = { HOME: box.dir, XDG_RUNTIME_DIR: join(box.dir, "run"), PATH: `${join(box.dir, "bin")}:/usr/bin:/bin` };
});
afterEach(() => {
  box[Symbol.dispose]();
});

const ada = { username: "ada", password: "open:sesame" };
const entry = (name: string): object => ({ auth: Buffer.from(`${name}:p`).toString("base64") });

function write(path: string, config: object): string {
  const file = join(box.dir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

function ask(registry: string, repository = "org/fn"): Promise<RegistryAuth | undefined> {
  return dockerCredentials({ env })({ registry, repository, signal: new AbortController().signal });
}

const FILES = ["run/containers/auth.json", ".config/containers/auth.json", ".docker/config.json"] as const;

describe("the files of Podman, Buildah and Docker", () => {
  test.each(FILES)("%s has credentials", async (path) => {
    write(path, { auths: { "r.example": entry("ada") } });
    expect(await ask("r.example")).toEqual({ username: "ada", password: "p" });
  });

  test("the first one with an entry wins, in the order of containers-auth.json(5)", async () => {
    write(".dockercfg", { "r.example": entry("0") });
    expect((await ask("r.example"))?.username).toBe("0");
    for (const [i, path] of FILES.toReversed().entries()) {
      write(path, { auths: { "r.example": entry(`${i + 1}`) } });
      expect((await ask("r.example"))?.username).toBe(`${i + 1}`);
    }
  });

  test("a file without an entry, or a damaged one, does not hide the next", async () => {
    write(FILES[0], { auths: { "s.example": entry("other") } });
    writeFileSync(write(FILES[1], {}), "{");
    write(FILES[2], { auths: { "r.example": entry("ada") } });
    expect((await ask("r.example"))?.username).toBe("ada");
    await expect(ask("t.example")).rejects.toMatchObject({ code: "InvalidCredentials" });
  });

  test("other folders of XDG and Docker are used", async () => {
    Object.assign(env, { XDG_CONFIG_HOME: join(box.dir, "xdg"), DOCKER_CONFIG: join(box.dir, "docker") });
    for (const path of FILES.slice(1)) write(path, { auths: { "r.example": entry("wrong") } });
    write("docker/config.json", { auths: { "r.example": entry("docker") } });
    expect((await ask("r.example"))?.username).toBe("docker");
    write("xdg/containers/auth.json", { auths: { "r.example": entry("xdg") } });
    expect((await ask("r.example"))?.username).toBe("xdg");
  });

  test("REGISTRY_AUTH_FILE excludes the others", async () => {
    write(FILES[2], { auths: { "r.example": entry("docker") } });
    env["REGISTRY_AUTH_FILE"] = join(box.dir, "auth");
    expect(await ask("r.example")).toBeUndefined();
    write("auth", { auths: { "r.example": entry("file") } });
    expect((await ask("r.example"))?.username).toBe("file");
  });

  test("the more specific entry wins", async () => {
    write(FILES[0], { auths: { "r.example": entry("all"), "r.example/team": entry("team") } });
    expect((await ask("r.example", "team/fn"))?.username).toBe("team");
    expect((await ask("r.example", "teams/fn"))?.username).toBe("all");
  });
});

describe("a login", () => {
  test("is stored where Docker has it, for this user alone, and other fields stay", async () => {
    expect(await storeCredentials({ registry: "r.example:5000" }, ada, { env })).toBe(join(box.dir, FILES[2]));
    const file = write(FILES[2], { auths: { "s.example": entry("s") }, proxies: { default: {} } });
    await storeCredentials({ registry: "r.example:5000" }, ada, { env });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      auths: { "s.example": {} },
      proxies: { default: {} },
    });
    expect(await ask("r.example:5000")).toEqual(ada);
    expect(readdirSync(dirname(file))).toEqual(["config.json"]);
  });

  test("for a path is not one for the rest of the registry", async () => {
    await storeCredentials({ registry: "r.example", path: "team" }, ada, { env });
    expect(await ask("r.example", "team/fn")).toEqual(ada);
    expect(await ask("r.example")).toBeUndefined();
  });

  test("replaces the entry that would hide it", async () => {
    const file = write(FILES[0], { auths: { "https://r.example/v1/": entry("old") } });
    expect(await storeCredentials({ registry: "r.example" }, ada, { env })).toBe(file);
    expect(await ask("r.example")).toEqual(ada);
  });

  test("goes to REGISTRY_AUTH_FILE, and through a link to its file", async () => {
    env["REGISTRY_AUTH_FILE"] = join(box.dir, "link");
    write("real/auth.json", {});
    symlinkSync("real/auth.json", join(box.dir, "link"));
    await storeCredentials({ registry: "docker.io" }, ada, { env });
    expect(lstatSync(join(box.dir, "link")).isSymbolicLink()).toBe(true);
    expect(await ask("docker.io")).toEqual(ada);
  });

  test.each([
    ["can be read by others", (file: string) => chmodSync(file, 0o644), "chmod 600"],
    ["is in a folder that others can write", (file: string) => chmodSync(dirname(file), 0o777), "chmod go-w"],
    ["is damaged", (file: string) => writeFileSync(file, "[]"), "not a JSON object"],
  ])("is refused if the file %s, and the file stays", async (_, spoil, words) => {
    const file = write(FILES[2], { auths: {} });
    spoil(file);
    const before = readFileSync(file, "utf8");
    await expect(storeCredentials({ registry: "r.example" }, ada, { env })).rejects.toMatchObject({
      code: "InvalidCredentials",
      message: expect.stringContaining(words),
    });
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(readdirSync(dirname(file))).toEqual(["config.json"]);
  });

  test("is given to the helper of the file, and not written", async () => {
    mkdirSync(join(box.dir, "bin"));
    const log = join(box.dir, "log");
    writeFileSync(
      join(box.dir, "bin/docker-credential-keys"),
      `#!/bin/sh\necho "$1 $(cat)" >>${log}\n[ $1 != get ] || echo '{"Username":"u","Secret":"s"}'\n`,
      { mode: 0o755 },
    );
    const file = write(FILES[2], { credsStore: "keys" });
    expect(await storeCredentials({ registry: "r.example" }, ada, { env })).toBe("docker-credential-keys");
    expect(readFileSync(file, "utf8")).not.toContain("auths");
    expect(await removeCredentials({ registry: "r.example" }, { env })).toEqual(["docker-credential-keys"]);
    expect(readFileSync(log, "utf8").trim().split("\n")).toEqual([
      'store {"ServerURL":"r.example","Username":"ada","Secret":"open:sesame"}',
      "get r.example",
      "erase r.example",
    ]);
  });
});

describe("at the same time as", () => {
  const users = (file: string): string[] => Object.keys(JSON.parse(readFileSync(file, "utf8")).auths);

  test("another login, a login waits and keeps the other entry", async () => {
    const file = write(FILES[2], { auths: {} });
    expect(takeLock(`${file}.lock`)).toBe(true);
    const stored = storeCredentials({ registry: "r.example" }, ada, { env });
    write(FILES[2], { auths: { "s.example": entry("other") } });
    rmSync(`${file}.lock`);
    await stored;
    expect(users(file)).toEqual(["s.example", "r.example"]);
    expect(readdirSync(dirname(file))).toEqual(["config.json"]);
  });

  test("another login that was killed, a login does not wait", async () => {
    const file = write(FILES[2], { auths: {} });
    const [host, namespace, pid] = ownName().split(".");
    symlinkSync(`${host}.${namespace}.${pid}.1.0`, `${file}.lock`);
    await storeCredentials({ registry: "r.example" }, ada, { env });
    expect(readdirSync(dirname(file))).toEqual(["config.json"]);
  });

  test("a process that had the same id, a login needs no free name", async () => {
    const file = write(FILES[2], { auths: {} });
    writeFileSync(`${file}.${process.pid}.new`, "");
    await storeCredentials({ registry: "r.example" }, ada, { env });
    expect(readdirSync(dirname(file))).toEqual(["config.json", `config.json.${process.pid}.new`]);
  });

  test("docker login, which takes no lock, a login keeps its entry", async () => {
    const path = write(FILES[2], { auths: {} });
    let isFirst = true;
    await changeAuths({ path }, (auths) => {
      if (isFirst) write(FILES[2], { auths: { "s.example": entry("docker") } });
      isFirst = false;
      auths.set("r.example", entry("ada"));
    });
    expect(users(path)).toEqual(["s.example", "r.example"]);
  });
});

describe("keys as old versions of Docker wrote them", () => {
  const SPELLINGS = ["r.example/v1", "r.example/v2/", "https://r.example/v1/", "http://r.example/v2", "R.EXAMPLE:443"];

  test.each(SPELLINGS)("%s is read, replaced and removed", async (key) => {
    const file = write(FILES[2], { auths: { [key]: entry("old"), "s.example": {} } });
    expect((await ask("r.example"))?.username).toBe("old");
    await storeCredentials({ registry: "r.example" }, ada, { env });
    expect(Object.keys(JSON.parse(readFileSync(file, "utf8")).auths)).toEqual(["s.example", "r.example"]);
    write(FILES[2], { auths: { [key]: entry("old"), "s.example": {} } });
    expect(await removeCredentials({ registry: "r.example" }, { env })).toEqual([file]);
    expect(JSON.parse(readFileSync(file, "utf8")).auths).toEqual({ "s.example": {} });
  });

  test.each(["v1", "v2"])("a login at HOST/%s is one for the registry", async (path) => {
    const file = await storeCredentials({ registry: "r.example", path }, ada, { env });
    expect(Object.keys(JSON.parse(readFileSync(file, "utf8")).auths)).toEqual(["r.example"]);
    expect(await removeCredentials({ registry: "r.example", path }, { env })).toEqual([file]);
  });

  test("an entry without credentials, which Docker writes if it has a helper, is removed", async () => {
    const file = write(FILES[2], { auths: { "r.example": {} } });
    expect(await removeCredentials({ registry: "r.example" }, { env })).toEqual([file]);
  });
});

test("a logout removes the entry from each file in any spelling, and nothing else", async () => {
  for (const path of FILES)
    write(path, {
      auths: { "https://r.example/v2/": entry("a"), "R.example": entry("b"), "r.example/team": entry("t") },
    });
  const changed = await removeCredentials({ registry: "r.example" }, { env });
  expect(changed).toEqual(FILES.map((path) => join(box.dir, path)));
  expect(await ask("r.example")).toBeUndefined();
  expect((await ask("r.example", "team/fn"))?.username).toBe("t");
  expect(await removeCredentials({ registry: "r.example" }, { env })).toEqual([]);
});
