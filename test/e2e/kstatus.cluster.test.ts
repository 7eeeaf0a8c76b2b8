import { spawnSync } from "node:child_process";
import type { LiveObject } from "@xfn/kubernetes";
import { describe, expect, test } from "vitest";
import { type ClaimWorld, nameOf, provideClaimWorld, ready } from "../harness/claims.ts";
import { type CompositeWorld, provideCompositeWorld } from "../harness/composites.ts";
import { buildGoProgram } from "../harness/go-program.ts";
import { needs } from "../harness/needs.ts";
import { type PackageWorld, packageWorld } from "../harness/package-world.ts";

// The status of our objects as kstatus computes it, for which Helm and Flux wait.

function kstatus(object: LiveObject | undefined): string | undefined {
  const { stdout, stderr } = spawnSync(buildGoProgram("kstatus"), {
    input: JSON.stringify([object]),
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  const [status] = JSON.parse(stdout) as string[];
  return status;
}

const FINALIZED = { finalizers: ["example.org/kept"] };

describe("kstatus of a composite resource", needs("api-server", "kstatus"), () => {
  const WIDGET = { apiVersion: "things.example.org/v1", kind: "Widget" };
  let world: CompositeWorld;
  provideCompositeWorld((provided) => {
    world = provided;
    world.compose({ resources: [{ name: "widget", base: { ...WIDGET, spec: { size: 1 } } }] });
  });

  test("is InProgress until all resources are ready, Current then, and Terminating while it is deleted", async () => {
    await world.create("xr", {}, FINALIZED);
    await world.reconcile("xr");
    expect(kstatus(await world.xr("xr"))).toBe("InProgress");
    const { items } = await world.client.list(await world.client.kind(WIDGET.apiVersion, WIDGET.kind), {});
    await world.client.patch(
      { ...WIDGET, name: nameOf(items[0]) },
      "merge",
      { status: ready() },
      { subresource: "status" },
    );
    await world.reconcile("xr");
    expect(kstatus(await world.xr("xr"))).toBe("Current");
    await world.client.delete({ apiVersion: "example.org/v1", kind: "XDatabase", name: "xr" });
    expect(kstatus(await world.xr("xr"))).toBe("Terminating");
  });
});

describe("kstatus of a claim", needs("api-server", "kstatus"), () => {
  let world: ClaimWorld;
  provideClaimWorld((made) => (world = made));

  test("is InProgress until the composite is ready, Current then, and Terminating while it is deleted", async () => {
    await world.createClaim("claim", {}, FINALIZED);
    await world.reconcileClaim("claim");
    expect(kstatus(await world.claim("claim"))).toBe("InProgress");
    await world.setStatus(nameOf(await world.compositeOf("claim")), ready());
    await world.reconcileClaim("claim");
    expect(kstatus(await world.claim("claim"))).toBe("Current");
    await world.deleteClaim("claim");
    expect(kstatus(await world.claim("claim"))).toBe("Terminating");
  });
});

describe("kstatus of a package", needs("kstatus"), () => {
  const settled = async (change: (world: PackageWorld) => void): Promise<PackageWorld> => {
    const world = packageWorld();
    change(world);
    await world.settle();
    return world;
  };

  test("is InProgress until it is installed and healthy, and Current then", async () => {
    expect(kstatus((await settled(({ registry }) => (registry.down = true))).fn())).toBe("InProgress");
    const world = await settled((made) => (made.runnerDown = true));
    expect(kstatus(world.fn())).toBe("InProgress");
    world.runnerDown = false;
    await world.settle();
    expect(kstatus(world.fn())).toBe("Current");
  });

  test.each(["FunctionRevision", "FunctionRuntime"])(
    "is InProgress until its %s is healthy, and Current then",
    async (kind) => {
      const world = packageWorld({}, { functionRuntimes: true });
      const statuses = (): (string | undefined)[] =>
        [...world.client.objects.values()].filter((object) => object.kind === kind).map(kstatus);
      world.runnerDown = true;
      await world.settle();
      expect(statuses()).toEqual(["InProgress"]);
      world.runnerDown = false;
      await world.settle();
      expect(statuses()).toEqual(["Current"]);
    },
  );
});
