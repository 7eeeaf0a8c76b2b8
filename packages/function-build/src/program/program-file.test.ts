import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parsePlatform } from "@xfn/oci-rootfs";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { elfFile } from "../../testing/elf-file.ts";
import { checkProcessor, inspectProgram } from "./program-file.ts";

let dir: string;

beforeAll(() => {
  dir = temporaryFolder();
});

function inspect(content: string | Uint8Array): ReturnType<typeof inspectProgram> {
  const path = join(dir, "program");
  writeFileSync(path, content);
  return inspectProgram(path);
}

test.each([
  ["#!/bin/sh\n", "sh", "/bin/sh"],
  ["#! /bin/bash -eu\necho\n", "bash", "/bin/bash"],
  ["#!/usr/bin/env python3\n", "python3", undefined],
  ["#!/usr/bin/env -S node --no-warnings\n", "node", undefined],
  ["#!/usr/bin/env -S LANG=C python3.12 -u\n", "python3.12", undefined],
  ["#!/opt/python/bin/python3", "python3", "/opt/python/bin/python3"],
])("%j is a script of %s", (content, interpreter, path) => {
  expect(inspect(content)).toEqual({ kind: "script", interpreter, path });
});

test.each([
  ["#!python3\n", /absolute path/],
  ["#!/usr/bin/env\n", /after env/],
  ["#!/bin/sh\r\necho\r\n", /carriage return/],
  ["MZ\u0090", /Windows/],
  ["echo hello\n", /#!/],
  ["", /#!/],
])("%j cannot be executed, and the message says why", (content, message) => {
  expect(() => inspect(content)).toThrow(message);
});

test("ELF files are static or dynamic", () => {
  expect(inspect(elfFile({}))).toMatchObject({ kind: "static" });
  expect(inspect(elfFile({ interpreter: "/lib/ld.so", needed: ["libc.so.6"] }))).toMatchObject({ kind: "dynamic" });
});

const AMD64 = 62;
const ARM64 = 183;

test("refuses a program for another processor, and names both", () => {
  const check = (machine: number, platform: string): void =>
    checkProcessor("./fn", inspect(elfFile({ machine })), parsePlatform(platform));
  expect(() => check(AMD64, "linux/amd64")).not.toThrow();
  expect(() => check(ARM64, "linux/arm64")).not.toThrow();
  expect(() => check(ARM64, "linux/amd64")).toThrow(/arm64, not for linux\/amd64/);
  expect(() => check(0xffff, "linux/amd64")).toThrow(/another processor/);
  expect(() => checkProcessor("./fn", inspect("#!/bin/sh\n"), parsePlatform("linux/arm64"))).not.toThrow();
});
