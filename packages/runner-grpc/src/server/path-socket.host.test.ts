import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import process from "node:process";
import { expect, test } from "vitest";
import { Serving } from "../../testing/serving.ts";

const INPUT = Buffer.from("input");

test("only the owner can open a path socket, under any umask, and no other file is left", async () => {
  await using serving = new Serving();
  const before = process.umask(0);
  try {
    await serving.server();
  } finally {
    process.umask(before);
  }
  expect(lstatSync(serving.path("runner.sock")).mode & 0o777).toBe(0o600);
  expect(readdirSync(serving.folder)).toEqual(["runner.sock"]);
});

test("replaces the socket of a killed process", async () => {
  await using serving = new Serving();
  const script = `require("node:net").createServer().listen(${JSON.stringify(serving.path("runner.sock"))}, () => process.kill(process.pid, "SIGKILL"))`;
  spawnSync(process.execPath, ["-e", script]);
  expect(lstatSync(serving.path("runner.sock")).isSocket()).toBe(true);
  const { address } = await serving.server();
  await serving.client(address).run("x", INPUT);
});

test("keeps a socket on which another process listens", async () => {
  await using serving = new Serving();
  const { address } = await serving.server();
  await expect(serving.server()).rejects.toMatchObject({ code: "AddressInUse", retryable: true });
  await serving.client(address).run("x", INPUT);
  expect(readdirSync(serving.folder)).toEqual(["runner.sock"]);
});

test("keeps a file that is not a socket", async () => {
  await using serving = new Serving();
  serving.file("runner.sock", "precious");
  await expect(serving.server()).rejects.toMatchObject({ code: "ListenFailed" });
  expect(lstatSync(serving.path("runner.sock")).isFile()).toBe(true);
});

test("names a missing directory", async () => {
  await using serving = new Serving();
  const server = serving.server({ addresses: [`unix:${serving.path("no/runner.sock")}`] });
  await expect(server).rejects.toMatchObject({ code: "ListenFailed" });
  await expect(server).rejects.toThrow(serving.path("no"));
});

test("a stopping server keeps the socket of its successor", async () => {
  await using serving = new Serving();
  const { server, address } = await serving.server();
  const other = createServer().listen(serving.path("other.sock"));
  const { renameSync } = await import("node:fs");
  renameSync(serving.path("other.sock"), serving.path("runner.sock"));
  await server.stop(0);
  expect(existsSync(address.slice("unix:".length))).toBe(true);
  other.close();
});

test("listens on no address if one fails", async () => {
  await using serving = new Serving();
  const taken = serving.path("taken.sock");
  writeFileSync(taken, "");
  const addresses = [`unix:${serving.path("runner.sock")}`, `unix:${taken}`];
  await expect(serving.server({ addresses })).rejects.toMatchObject({ code: "ListenFailed" });
  expect(readdirSync(serving.folder)).toEqual(["taken.sock"]);
});
