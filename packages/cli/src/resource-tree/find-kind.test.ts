import type { JsonObject } from "@xfn/json";
import type { Client } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import { findKind } from "./find-kind.ts";
import { limitOf } from "./limit.ts";

const DATABASE = {
  name: "databases",
  singularName: "database",
  kind: "Database",
  namespaced: true,
  shortNames: ["db"],
};
const GROUPS: Readonly<Record<string, readonly JsonObject[]>> = {
  "a.example.org": [DATABASE],
  "b.example.org": [
    { ...DATABASE, namespaced: false },
    { name: "databases/status", kind: "Database" },
  ],
  "c.example.org": [{ name: "others", kind: "Other" }],
};

/** A server with these kinds. */
const client = {
  raw: async (_method: string, path: string) => {
    const group = path.split("/")[2];
    if (path === "/apis") {
      return {
        groups: Object.keys(GROUPS).map((name) => ({
          name,
          preferredVersion: { version: "v1" },
          versions: [{ version: "v1" }],
        })),
      };
    }
    return { resources: GROUPS[group ?? ""] ?? [] };
  },
} as unknown as Client;

const find = (type: string) => findKind(client, type, limitOf(2), new AbortController().signal);

test.each(["database", "Database", "db", "databases"])(
  "%s of two groups is that of the first, and names the other",
  async (type) => {
    expect(await find(type)).toEqual({
      apiVersion: "a.example.org/v1",
      kind: "Database",
      namespaced: true,
      plural: "databases",
      others: ["databases.b.example.org"],
    });
  },
);

test("a kind with its group is that of the group", async () => {
  expect(await find("databases.b.example.org")).toMatchObject({ apiVersion: "b.example.org/v1", others: [] });
  expect(await find("other")).toMatchObject({ apiVersion: "c.example.org/v1", others: [] });
});

test("an unknown kind is an error", async () => {
  await expect(find("nothing")).rejects.toMatchObject({ code: "Failed" });
});
