import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";

/** Calls a method with bytes, as any gRPC client can. @throws ServiceError of grpc-js */
export async function rawCall(
  address: string,
  path: string,
  request: Uint8Array,
  headers: Readonly<Record<string, string | Buffer>>,
  deadline?: number,
): Promise<Buffer> {
  const client = new Client(address, credentials.createInsecure());
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const options = deadline === undefined ? {} : { deadline };
  try {
    return await new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer: Buffer = Buffer.alloc(0)): void =>
        error === null ? resolve(answer) : reject(error);
      client.makeUnaryRequest(path, Buffer.from, (bytes: Buffer) => bytes, request, metadata, options, done);
    });
  } finally {
    client.close();
  }
}
