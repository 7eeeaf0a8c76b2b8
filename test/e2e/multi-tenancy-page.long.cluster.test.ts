import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { findBinaries } from "@xfn/dev-cluster";
import { isObject, type JsonObject } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { consoleCommands, fencedBlocks } from "../harness/fenced-blocks.ts";
import { SHORT_LIVED } from "../harness/kubectl/short-lived.ts";
import { needs } from "../harness/needs.ts";
import { matching, runUntil, type Shell, startShell } from "../harness/page-shell.ts";
import { CHECKOUT } from "../harness/paths.ts";
import { Workspace } from "../harness/workspace.ts";

// Runs docs/tasks/multi-tenancy.md from top to bottom. The controller is the service account of deploy/, with its
// rights and no others. Blocks `yaml FILE` are files. Commands `kubectl get` are repeated until their output matches.

const page = fencedBlocks(readFileSync(join(CHECKOUT, "docs/tasks/multi-tenancy.md"), "utf8"));
const commands = page.filter(({ language }) => language === "console").flatMap(({ text }) => consoleCommands(text));

describe("docs/tasks/multi-tenancy.md", needs("api-server"), () => {
  let server: TestApiServer;
  let controller: RunningController;
  let workspace: Workspace;
  let shell: Shell;

  beforeAll(async () => {
    workspace = await Workspace.create();
    server = await startApiServer();
    for (const file of ["namespace", "rbac"])
      await server.kubectl(["apply", "-f", join(CHECKOUT, `deploy/base/${file}.yaml`)]);
    const kubeconfig = await accountKubeconfig();
    controller = await startController(kubeconfig, {
      args: ["--namespace", "crossplane-system", "--poll-interval", "5s"],
    });
    for (const { language, rest, text } of page) if (language === "yaml") await workspace.write(rest, text);
    const binaries = findBinaries().binaries ?? server.binaries;
    shell = startShell(workspace.path(), {
      ...workspace.environment(),
      PATH: `${dirname(binaries.kubectl)}:${process.env["PATH"]}`,
      KUBECONFIG: server.admin.kubeconfig,
      ...SHORT_LIVED,
    });
  }, 300_000);
  afterAll(async () => {
    await shell?.end();
    await controller?.[Symbol.asyncDispose]();
    await server?.stop();
    await workspace?.[Symbol.asyncDispose]();
  });

  /** A kubeconfig with a token of the controller's service account. */
  async function accountKubeconfig(): Promise<string> {
    const shown = await server.kubectl(["config", "view", "--raw", "-o", "json"]);
    const admin = JSON.parse(shown) as JsonObject;
    const token = (await server.kubectl(["create", "token", "xfn-controller", "-n", "crossplane-system"])).trim();
    const users = (Array.isArray(admin["users"]) ? admin["users"] : []).filter(isObject);
    return await workspace.write(
      "controller-kubeconfig",
      JSON.stringify({
        ...admin,
        users: users.map(({ name }) => ({ name, user: { token } })),
      }),
    );
  }

  test.each(commands)("$command", async ({ command, output }) => {
    const expected = matching(output);
    const shown = await runUntil(shell, command, expected);
    expect(shown).toMatch(expected);
  });

  // The page has run: its account and definition are there.
  const reason = async (name: string): Promise<string> => await synced(name, "reason");
  const synced = async (name: string, field: string): Promise<string> =>
    await server.kubectl([
      "get",
      "app",
      name,
      "-n",
      "shop",
      "-o",
      `jsonpath={.status.conditions[?(@.type=="Synced")].${field}}`,
    ]);
  const color = async (name: string, value: string): Promise<string> =>
    await server.kubectl(["apply", "-f", "-"], {
      input: `apiVersion: shop.example.org/v1\nkind: App\nmetadata: { name: ${name}, namespace: shop }\nspec: { color: ${value} }\n`,
    });
  const verbsOf = async (role: string, rule: number, allowed: readonly string[]): Promise<string> =>
    await server.kubectl([
      "patch",
      "role",
      role,
      "-n",
      "shop",
      "--type=json",
      "-p",
      JSON.stringify([{ op: "replace", path: `/rules/${rule}/verbs`, value: allowed }]),
    ]);
  const verbs = async (...allowed: readonly string[]): Promise<string> => await verbsOf("composer", 1, allowed);

  test("a withdrawn right is not bypassed by a cache", async () => {
    await color("api", "red");
    await expect.poll(() => reason("api"), { timeout: 60_000 }).toBe("ReconcileSuccess");
    // The controller watches ConfigMaps with its own rights, so its cache has the object.
    await verbs("list", "watch", "create", "update", "patch", "delete");
    await expect.poll(() => reason("api"), { timeout: 60_000 }).toBe("ReconcileError");
    expect(await synced("api", "message")).toMatch(
      /"system:serviceaccount:shop:composer" cannot get resource "configmaps"/,
    );
    await verbs("get", "list", "watch", "create", "update", "patch", "delete");
    await expect.poll(() => reason("api"), { timeout: 60_000 }).toBe("ReconcileSuccess");
  });

  test("composes nothing with the rights of the controller", async () => {
    const other = `
apiVersion: v1
kind: Namespace
metadata: { name: bank }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: all, namespace: bank }
rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: all, namespace: bank }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: all }
subjects: [{ kind: ServiceAccount, name: xfn-controller, namespace: crossplane-system }]
---
apiVersion: shop.example.org/v1
kind: App
metadata: { name: web, namespace: bank }
spec: { color: green }
`;
    await server.kubectl(["apply", "-f", "-"], { input: other });
    const read = [
      "get",
      "app",
      "web",
      "-n",
      "bank",
      "-o",
      'jsonpath={.status.conditions[?(@.type=="Synced")].message}',
    ];
    await expect.poll(() => server.kubectl(read), { timeout: 60_000 }).toMatch(/shop\/composer cannot read App .*web/);
    expect(
      await server.kubectl(["get", "configmap", "-n", "bank", "-l", "crossplane.io/composite=web", "-o", "name"]),
    ).toBe("");
  });

  const inShop = async (...args: readonly string[]): Promise<string> => await server.kubectl([...args, "-n", "shop"]);
  const quotas = async (): Promise<string> => await inShop("get", "resourcequota", "-o", "name");
  /** Changes the Composition of ResourceQuotas. */
  const recompose = async (spec: JsonObject): Promise<string> =>
    await server.kubectl(["patch", "composition", "quotas", "--type=merge", "-p", JSON.stringify({ spec })]);
  const message = async (): Promise<string> => await synced("batch", "message");

  test("a Composition composes with the rights of its own account only", async () => {
    const all = ["get", "list", "watch", "create", "update", "patch", "delete"];
    const without = (verb: string): string[] => all.filter((one) => one !== verb);
    // The controller watches ResourceQuotas with its own rights, so its cache has the object.
    await verbsOf("quotas", 0, without("get"));
    await expect.poll(message, { timeout: 60_000 }).toMatch(/shop:quotas" cannot get resource "resourcequotas"/);
    // The definition's account has no rights on ResourceQuotas, and the controller may only read them.
    await verbsOf("quotas", 0, without("delete"));
    await recompose({ resources: [], environment: { defaultData: {} } });
    await expect.poll(message, { timeout: 60_000 }).toMatch(/shop:quotas" cannot delete resource "resourcequotas"/);
    expect(await quotas()).not.toBe("");
  });

  test("a rollback composes with the account of the earlier revision, which an XR waits for to be deleted", async () => {
    // The page's Composition again, and then one without an account.
    const page = await server.kubectl([
      "get",
      "compositionrevision",
      "-o",
      "json",
      "-l",
      "crossplane.io/composition-name=quotas",
    ]);
    const { items } = JSON.parse(page) as { items: { spec: JsonObject }[] };
    const { resources } = items.find(({ spec }) => spec["revision"] === 1)?.spec ?? {};
    expect(resources).toBeDefined();
    await recompose({ serviceAccountRef: null, resources: resources ?? null });
    await expect.poll(message, { timeout: 60_000 }).toMatch(/shop:composer" cannot get resource "resourcequotas"/);
    await inShop("delete", "serviceaccount", "quotas");
    await recompose({ serviceAccountRef: { namespace: "shop", name: "quotas" } });
    await expect.poll(message, { timeout: 60_000 }).toMatch(/shop\/quotas does not exist; create it/);
    await inShop("delete", "app", "batch", "--wait=false");
    await expect.poll(message, { timeout: 60_000 }).toMatch(/its finalizer waits for the account/);
    await inShop("create", "serviceaccount", "quotas");
    await expect.poll(message, { timeout: 60_000 }).toMatch(/ResourceQuota.*shop:quotas" cannot delete/);
    expect(await quotas()).not.toBe("");
    await verbsOf("quotas", 0, ["get", "delete"]);
    await expect.poll(() => inShop("get", "app", "-o", "name"), { timeout: 60_000 }).not.toMatch(/batch/);
    expect(await quotas()).toBe("");
  });

  test("a namespace is deleted with its XRs, their account and its roles", async () => {
    await color("last", "blue");
    await expect.poll(() => reason("last"), { timeout: 60_000 }).toBe("ReconcileSuccess");
    await server.kubectl(["delete", "namespace", "shop", "--wait=false"]);
    const remaining = async (): Promise<string> =>
      await server.kubectl(["get", "namespace", "shop", "--ignore-not-found", "-o", "jsonpath={.status.conditions}"]);
    await expect.poll(remaining, { timeout: 60_000 }).toBe("");
  });
});
