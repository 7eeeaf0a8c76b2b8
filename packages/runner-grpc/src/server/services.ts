import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { Server } from "@grpc/grpc-js";
import { FILE_DESCRIPTOR_SET } from "../generated/descriptors.ts";
import { SERVICE_NAME } from "../wire/service-definition.ts";

/** The standard health service (grpc.health.v1) of the whole server and of the contract's service. */
export interface Health {
  set(serving: boolean): void;
  addTo(server: Server): void;
}

/** Loads the health service: what is not asked for costs no time at the start. */
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

/** Loads the reflection service, which tells tools such as grpcurl what the contract is. */
export async function loadReflection(): Promise<{ addTo(server: Server): void }> {
  const { ReflectionService } = await import("@grpc/reflection");
  // It takes what @grpc/proto-loader makes of .proto files, and reads nothing but the descriptors of it.
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
