import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Sandbox, sandbox } from "../../testing/sandbox.ts";
import type { ImageConfig } from "../image/manifest.ts";
import { linuxCalls } from "../layer/linux-calls.ts";
import { type ProcessConfig, processConfig } from "./process-config.ts";

let box: Sandbox;
beforeEach(() => {
  box = sandbox();
  for (const layer of ["one", "two"]) mkdirSync(join(box.dir, layer, "fs", "etc"), { recursive: true });
  writeFileSync(join(box.dir, "one/layer.json"), "{}");
  writeFileSync(join(box.dir, "two/layer.json"), "{}");
});
afterEach(() => {
  box[Symbol.dispose]();
});

const PASSWD =
  "root:x:0:0:root:/root:/bin/sh\n# comment\napp:x:1000:1000:App:/home/app:/bin/sh\n65534:x:70:71::/:/bin/sh\n";
const GROUP = "root:x:0:\nstaff:x:50:app,ghost\napp:x:1000:app\n123:x:456:app\n";

function run(config: ImageConfig["config"]): Promise<ProcessConfig> {
  const layers = ["one", "two"].map((layer) => join(box.dir, layer, "fs"));
  return processConfig({ name: "test", config: { config: config ?? {} }, layers });
}

function accounts(passwd = PASSWD, group = GROUP): void {
  writeFileSync(join(box.dir, "one/fs/etc/passwd"), passwd);
  writeFileSync(join(box.dir, "one/fs/etc/group"), group);
}

const user = async (User: string) => (await run({ Entrypoint: ["/fn"], User })).user;

describe("process", () => {
  test("arguments are entrypoint and command, taken literally", async () => {
    expect((await run({ Entrypoint: ["--bundle=/x", "-v"], Cmd: ["a", "b c"] })).args).toEqual([
      "--bundle=/x",
      "-v",
      "a",
      "b c",
    ]);
    expect((await run({ Cmd: ["/fn"] })).args).toEqual(["/fn"]);
  });

  test.each([[{}], [{ Entrypoint: [], Cmd: [] }]])("the lack of both is NoEntrypoint: %j", async (config) => {
    await expect(run(config)).rejects.toMatchObject({ code: "NoEntrypoint", image: "test" });
  });

  test("the environment follows a default PATH", async () => {
    expect((await run({ Cmd: ["x"], Env: ["A=b=c", "PATH=/x"] })).env).toEqual([
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "A=b=c",
      "PATH=/x",
    ]);
  });

  test("the working directory is the image's, absolute, or /", async () => {
    expect((await run({ Cmd: ["x"] })).cwd).toBe("/");
    expect((await run({ Cmd: ["x"], WorkingDir: "/app" })).cwd).toBe("/app");
    expect((await run({ Cmd: ["x"], WorkingDir: "app" })).cwd).toBe("/app");
  });

  test("the host name is the image's, if it has one", async () => {
    expect(await run({ Cmd: ["x"] })).not.toHaveProperty("hostname");
    expect(await run({ Cmd: ["x"], Hostname: "" })).not.toHaveProperty("hostname");
    expect((await run({ Cmd: ["x"], Hostname: "box" })).hostname).toBe("box");
  });

  test("a host name that the kernel would reject is an error of the image", async () => {
    expect((await run({ Cmd: ["x"], Hostname: "h".repeat(64) })).hostname).toHaveLength(64);
    await expect(run({ Cmd: ["x"], Hostname: "é".repeat(33) })).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test.each([{ Env: ["A=b\0c"] }, { Cmd: ["a\0b"] }, { WorkingDir: "/a\0b" }, { Hostname: "a\0b" }])(
    "NUL bytes are refused: %j",
    async (config) => {
      await expect(run({ Entrypoint: ["x"], ...config })).rejects.toMatchObject({ code: "InvalidConfig" });
    },
  );

  test("labels for the OCI runtime have no effect", async () => {
    const config = await run({ Cmd: ["x"], Labels: { "run.oci.hooks.stdout": "/tmp/x", "run.oci.handler": "krun" } });
    expect(JSON.stringify(config)).not.toContain("run.oci");
  });
});

describe("user", () => {
  test.each([
    ["", 0, 0, []],
    ["app", 1000, 1000, [50, 456]],
    ["1000", 1000, 1000, [50, 456]],
    ["65534", 65534, 0, []],
    ["app:staff", 1000, 50, [50, 456]],
    ["app:0", 1000, 0, [50, 456]],
    ["app:123", 1000, 123, [50, 456]],
    ["4242:4343", 4242, 4343, []],
    ["4294967295", 4294967295, 0, []],
    ["007", 7, 0, []],
  ])("%j is %d:%d with %j", async (text, uid, gid, additionalGids) => {
    accounts();
    expect(await user(text)).toEqual({ uid, gid, additionalGids });
  });

  test.each([
    "ghost",
    "4294967296",
    "root\n",
    "-1",
    "+5",
    "0x10",
    " app",
    ":",
    "app:",
    "app:none",
    "a:b:c",
    "99999999999999999999999",
  ])("%j is rejected", async (text) => {
    accounts();
    await expect(user(text)).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test("without /etc/group, users have the group of /etc/passwd", async () => {
    writeFileSync(join(box.dir, "one/fs/etc/passwd"), PASSWD);
    expect(await user("app")).toEqual({ uid: 1000, gid: 1000, additionalGids: [] });
    expect(await user("1000")).toEqual({ uid: 1000, gid: 1000, additionalGids: [] });
    expect(await user("app:7")).toEqual({ uid: 1000, gid: 7, additionalGids: [] });
    await expect(user("app:staff")).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test("without /etc/passwd, groups have names and users have ids", async () => {
    writeFileSync(join(box.dir, "one/fs/etc/group"), GROUP);
    expect(await user("1000:staff")).toEqual({ uid: 1000, gid: 50, additionalGids: [] });
    await expect(user("app")).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test("without both files, only ids are valid", async () => {
    expect(await user("1000")).toEqual({ uid: 1000, gid: 0, additionalGids: [] });
    await expect(user("app")).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test("more than 1,024 additional groups are rejected, because each image would keep them in memory", async () => {
    const groups = (count: number): string =>
      Array.from({ length: count }, (_, i) => `g${i}:x:${i + 2}:app\n`).join("");
    writeFileSync(join(box.dir, "one/fs/etc/passwd"), "app:x:1:1::/:/bin/sh\n");
    writeFileSync(join(box.dir, "one/fs/etc/group"), groups(1025));
    await expect(user("app")).rejects.toMatchObject({ code: "InvalidConfig" });
    writeFileSync(join(box.dir, "one/fs/etc/group"), groups(1024));
    expect((await user("app")).additionalGids).toHaveLength(1024);
  });

  test("an upper layer's files win", async () => {
    accounts();
    writeFileSync(join(box.dir, "two/fs/etc/passwd"), "app:x:7:8::/:/bin/sh\n");
    expect(await user("app")).toEqual({ uid: 7, gid: 8, additionalGids: [50, 1000, 456] });
  });

  test("a deleted file is ignored", async () => {
    accounts();
    linuxCalls().makeWhiteout(join(box.dir, "two/fs/etc/passwd"));
    await expect(user("app")).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test("a directory that hides lower layers hides their files", async () => {
    accounts();
    const counts = { bytes: 0, entries: 1, nodes: 1, pathBytes: 3, assumed: { paths: 0, bytes: 0 } };
    const record = { opaque: ["etc"], lowerLinks: false, overlay: true, ...counts };
    writeFileSync(join(box.dir, "two/layer.json"), JSON.stringify(record));
    await expect(user("app")).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test("a link inside the image is followed", async () => {
    writeFileSync(join(box.dir, "one/fs/etc/real"), PASSWD);
    writeFileSync(join(box.dir, "one/fs/etc/group"), GROUP);
    symlinkSync("/etc/../etc/real", join(box.dir, "two/fs/etc/passwd"));
    expect((await user("app")).uid).toBe(1000);
  });

  test("a link with a target outside the image is resolved inside it", async () => {
    writeFileSync(join(box.dir, "passwd"), PASSWD);
    writeFileSync(join(box.dir, "one/fs/etc/group"), GROUP);
    symlinkSync(`../../../..${join(box.dir, "passwd")}`, join(box.dir, "one/fs/etc/passwd"));
    await expect(user("app")).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test("a loop of links counts as no file", async () => {
    accounts();
    symlinkSync("passwd", join(box.dir, "two/fs/etc/passwd"));
    await expect(user("app")).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test("a FIFO does not hang", async () => {
    accounts();
    linuxCalls().makeFifo(join(box.dir, "two/fs/etc/passwd"), 0o644);
    await expect(user("app")).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test.each([
    ["1 GiB", 1024 ** 3],
    ["more than 128 KiB", 128 * 1024 + 1],
  ])("a file of %s is not read", async (_, bytes) => {
    accounts();
    truncateSync(join(box.dir, "one/fs/etc/passwd"), bytes);
    await expect(user("app")).rejects.toMatchObject({ code: "TooLarge" });
  });

  test.each([
    ["quotes around a field", 'app:x:7:8:"a:b ""c""":/:/bin/sh\n'],
    ["a quoted field over lines", 'app:x:7:8:"a\nroot:x:0:0":/:/bin/sh\n'],
    ["comments, empty lines and no newline at the end", "\n#x\n\napp:x:7:8::/:/bin/sh"],
    ["line ends of Windows", "app:x:7:8::/:/bin/sh\r\n\r\n"],
    ["space before fields", "  app:\tx: 7: 8::/:/bin/sh\n"],
    ["more zeros than an id has digits", `app:x:${"0".repeat(40)}7:8::/:/bin/sh\n`],
  ])("%s are parsed as by the reference runner", async (_, passwd) => {
    accounts(passwd, "app:x:8:\n");
    expect(await user("app")).toEqual({ uid: 7, gid: 8, additionalGids: [] });
  });

  test.each([
    ["a quote that is never closed", `app:x:7:8:"${"a\n".repeat(60_000)}`],
    ["quotes only", '"'.repeat(130_001)],
    ["colons only", ":".repeat(130_000)],
    ["one field", "a".repeat(130_000)],
  ])("%s of the maximum size is an immediate error", async (_, passwd) => {
    accounts(passwd, GROUP);
    await expect(user("app")).rejects.toMatchObject({ code: "InvalidConfig" });
  });

  test("names of object properties are ordinary names", async () => {
    accounts("__proto__:x:7:8::/:/bin/sh\nconstructor:x:9:9::/:/sh\n", "__proto__:x:5:constructor\n");
    expect(await user("__proto__")).toEqual({ uid: 7, gid: 8, additionalGids: [] });
    expect(await user("constructor:__proto__")).toEqual({ uid: 9, gid: 5, additionalGids: [5] });
  });

  test.each([
    ["too few fields", "app:x:1000\n", GROUP],
    ["too many fields", "app:x:1:1::/:/bin/sh:x\n", GROUP],
    ["an id that is none", "app:x:abc:1::/:/bin/sh\n", GROUP],
    ["a stray quote", 'app:x:1:1:a "b":/:/bin/sh\n', GROUP],
    ["a stray quote at the end", 'app:x:1:1::/:/bin/sh"\n', GROUP],
    ["something after a quoted field", 'app:x:1:1::/:"/bin/sh"x\n', GROUP],
    ["a group of three fields", PASSWD, "staff:x:50\n"],
  ])("%s is an error that names the line", async (_, passwd, group) => {
    accounts(passwd, group);
    await expect(user("1000")).rejects.toThrow(/etc\/(passwd|group) of the image/);
    expect((await user("")).uid).toBe(0);
  });
});
