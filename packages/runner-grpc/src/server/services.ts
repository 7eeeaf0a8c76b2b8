import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { Server } from "@grpc/grpc-js";
import { FILE_DESCRIPTOR_SET } from "../generated/descriptors.ts";
import { SERVICE_NAME } from "../wire/service-definition.ts";

/** The standard health service (grpc.health.v1) for the whole server and for the contract's service. */
export interface Health {
  set(serving: boolean): void;
  addTo(server: Server): void;
}

/** Loads the health service on demand, to keep the start fast. */
export async function loadHealth(serving: boolean): Promise<Health> {
  const { HealthImplementation } = await import("grpc-health-check");
  const state = (yes: boolean): "SERVING" | "NOT_SERVING" => (yes ? "SERVING" : "NOT_SERVING");
  const health = new HealthImplementation({ "": state(serving), [SERVICE_NAME]: state(serving) });
  return {
    set: (yes) => {
      for (const name of ["", SERVICE_NAME]) health.setStatus(name, state(yes));
    },
    addTo: (server) => health.addToServer(server),
  };
}

/** Loads the reflection service, which describes the contract to tools such as grpcurl. */
export async function loadReflection(): Promise<{ addTo(server: Server): void }> {
  const { ReflectionService } = await import("@grpc/reflection");
  // The service expects a package definition of @grpc/proto-loader, but reads only its file descriptors.
  const definition = { [SERVICE_NAME]: { fileDescriptorProtos: filesOf(Buffer.from(FILE_DESCRIPTOR_SET, "base64")) } };
  const reflection = new ReflectionService(definition as unknown as ConstructorParameters<typeof ReflectionService>[0]);
  return { addTo: (server) => reflection.addToServer(server) };
}

// FileDescriptorSet { repeated FileDescriptorProto file = 1; }
function filesOf(set: Uint8Array): Buffer[] {
  const reader = new BinaryReader(set);
  const files: Buffer[] = [];
  while (reader.pos < reader.len) {
    reader.uint32();
    files.push(Buffer.from(reader.bytes()));
  }
  return files;
}
