/**
 * OpenAPI documents of services that do not exist, with the habits of those that do: a pet shop, a
 * code host, a payment provider, and as many more operations as a test wants.
 */

type Json = Readonly<Record<string, unknown>>;

const json = (schema: Json): Json => ({ content: { "application/json": { schema } } });
const ok = (schema: Json, description = "OK"): Json => ({
  "200": { description, ...json(schema) },
});
const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const idOf = (name: string): Json => ({
  ...{ name, in: "path", required: true },
  schema: { type: "integer", format: "int64" },
});

/** OpenAPI 3.0: nullable, oauth2 and API keys, a path with a method's name, bodies of every kind. */
export const PET_SHOP: Json = {
  openapi: "3.0.3",
  info: { title: "Pet Shop", version: "1.4.2", description: "Pets, orders, people. And more." },
  externalDocs: { url: "https://docs.pets.example" },
  servers: [{ url: "https://pets.example/api/v3/" }],
  paths: {
    "/pet": {
      post: {
        ...{ tags: ["pet"], summary: "Adds a pet to the shop", operationId: "addPet" },
        requestBody: { required: true, ...json(ref("Pet")) },
        responses: { ...ok(ref("Pet")), "405": { description: "Invalid input" } },
        security: [{ shop_auth: ["write:pets"] }],
      },
      put: {
        ...{ tags: ["pet"], summary: "Update an existing pet", operationId: "updatePet" },
        requestBody: { required: true, ...json(ref("Pet")) },
        responses: { ...ok(ref("Pet")), "404": { description: "Pet not found" } },
        security: [{ shop_auth: ["write:pets"] }],
      },
    },
    "/pet/findByStatus": {
      get: {
        ...{ tags: ["pet"], operationId: "findPetsByStatus", summary: "Finds pets by status" },
        parameters: [
          { name: "status", in: "query", schema: { type: "string", enum: ["sold", "free"] } },
          {
            ...{ name: "ids", in: "query", explode: false },
            schema: { type: "array", items: { type: "integer" } },
          },
          { name: "filter[max-price]", in: "query", schema: { type: "number" } },
          { name: "X-Trace-Id", in: "header", schema: { type: "string" } },
        ],
        responses: {
          ...ok({ type: "array", items: ref("Pet") }),
          "400": { description: "Invalid status value" },
        },
      },
    },
    "/pet/{pet-id}": {
      parameters: [idOf("pet-id")],
      get: {
        ...{ tags: ["pet"], summary: "Find pet by ID", operationId: "getPetById" },
        responses: {
          ...ok(ref("Pet"), "The pet with this id."),
          "404": { description: "Pet not found" },
          "500": { description: "error" },
        },
        security: [{ api_key: [] }, { shop_auth: [] }],
      },
      delete: {
        ...{ tags: ["pet"], operationId: "deletePet", deprecated: true },
        responses: { "204": { description: "gone" } },
      },
    },
    "/pet/{pet-id}/uploadImage": {
      post: {
        ...{ tags: ["pet"], operationId: "uploadFile", parameters: [idOf("pet-id")] },
        requestBody: {
          content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
        },
        responses: ok({ type: "object", properties: { code: { type: "integer" } } }),
      },
    },
    "/store/order": {
      post: {
        ...{ tags: ["store"], summary: "Place an order for a pet", operationId: "placeOrder" },
        requestBody: json(ref("Order")),
        responses: ok(ref("Order")),
      },
    },
    "/store/order/{orderId}": {
      get: {
        ...{ tags: ["store"], operationId: "getOrderById", parameters: [idOf("orderId")] },
        responses: ok(ref("Order")),
      },
    },
    "/user/createWithList": {
      post: {
        ...{ tags: ["user"], operationId: "createUsersWithListInput" },
        requestBody: json({ type: "array", items: ref("User") }),
        responses: { default: { description: "successful operation" } },
      },
    },
  },
  components: {
    schemas: {
      Pet: {
        ...{ type: "object", required: ["id", "name"], xml: { name: "pet" } },
        properties: {
          id: { type: "integer", format: "int64", readOnly: true, example: 10 },
          name: { type: "string", minLength: 1, example: "Rex" },
          nickname: { type: "string", nullable: true },
          price: { type: "number", minimum: 0, exclusiveMinimum: true },
          mood: { type: "string", nullable: true, enum: ["good", "bad", null] },
          category: ref("Category"),
        },
      },
      Category: {
        type: "object",
        properties: { name: { type: "string" }, parent: ref("Category") },
      },
      Order: {
        type: "object",
        properties: {
          id: { type: "integer" },
          petId: { type: "integer" },
          complete: { type: "boolean" },
        },
      },
      User: {
        ...{ type: "object", required: ["name", "password"] },
        properties: {
          name: { type: "string" },
          password: { type: "string", writeOnly: true },
          since: { type: "string", format: "date", readOnly: true },
        },
      },
    },
    securitySchemes: {
      shop_auth: { type: "oauth2", flows: {} },
      api_key: { type: "apiKey", name: "api_key", in: "header" },
    },
  },
};

/** OpenAPI 3.1, as a code host writes it: slashes in ids, anyOf, several servers, verbs in paths. */
export const CODE_HOST: Json = {
  openapi: "3.1.0",
  info: { title: "Code Host REST API", version: "2026-03-10" },
  servers: [
    { url: "http://{region}.code.example", variables: { region: { default: "eu" } } },
    {
      url: "https://{region}.code.example/v{v}",
      variables: { region: { default: "eu" }, v: { default: "2" } },
    },
  ],
  security: [{ token: [] }],
  paths: {
    "/repos/{owner}/{repo}/issues": {
      parameters: [
        { $ref: "#/components/parameters/owner" },
        { $ref: "#/components/parameters/repo" },
      ],
      get: {
        ...{
          tags: ["issues"],
          operationId: "issues/list-for-repo",
          summary: "List repository issues",
        },
        parameters: [
          { name: "labels", in: "query", schema: { type: "array", items: { type: "string" } } },
          { name: "per-page", in: "query", schema: { type: "integer", default: 30 } },
        ],
        responses: {
          ...ok({ type: "array", items: ref("issue") }),
          "304": { description: "Not modified" },
        },
      },
      post: {
        ...{ tags: ["issues"], operationId: "issues/create", summary: "Create an issue" },
        requestBody: {
          required: true,
          ...json({
            ...{ type: "object", required: ["title"] },
            properties: {
              title: { oneOf: [{ type: "string" }, { type: "integer" }] },
              body: { type: ["string", "null"] },
              owner: { type: "string", description: "Who it is for." },
              labels: {
                type: "array",
                items: {
                  oneOf: [{ type: "string" }, { type: "object", properties: { name: {} } }],
                },
              },
            },
            anyOf: [{ required: ["title"] }, { required: ["body"] }],
          }),
        },
        responses: {
          "201": { description: "Created", ...json(ref("issue")) },
          "410": { $ref: "#/components/responses/gone" },
          "422": { description: "Validation failed, or the endpoint has been spammed." },
        },
      },
    },
    "/repos/{owner}/{repo}/pulls/{number}/merge": {
      parameters: [
        { $ref: "#/components/parameters/owner" },
        { $ref: "#/components/parameters/repo" },
      ],
      get: {
        operationId: "pulls/check-if-merged",
        responses: { "204": { description: "It is merged" }, "404": { description: "Not merged" } },
      },
      put: {
        operationId: "pulls/merge",
        requestBody: json({ type: ["object", "null"], properties: { sha: { type: "string" } } }),
        responses: ok({ type: "object", properties: { merged: { const: true } } }),
      },
    },
    "/repos/{owner}/{repo}/compare/{base}...{head}": {
      get: { operationId: "repos/compare-commits", responses: ok({ type: "object" }) },
    },
    "/rate_limit": { get: { operationId: "rate-limit/get", responses: ok({ type: "object" }) } },
    "/search/code": {
      get: { operationId: "search/code", responses: ok({ type: "object" }) },
    },
    "/markdown/raw": {
      post: {
        operationId: "markdown/render-raw",
        requestBody: { content: { "text/plain": { schema: { type: "string" } } } },
        responses: { "200": { description: "", content: { "text/html": { schema: {} } } } },
      },
    },
    "/events": {
      get: {
        ...{ operationId: "activity/list-events", tags: ["activity"] },
        responses: ok({ type: "array", items: ref("event") }),
      },
    },
  },
  components: {
    parameters: {
      owner: { name: "owner", in: "path", required: true, schema: { type: "string" } },
      repo: { name: "repo", in: "path", required: true, schema: { type: "string" } },
    },
    responses: { gone: { description: "Gone", ...json(ref("basic-error")) } },
    schemas: {
      "basic-error": { type: "object", properties: { message: { type: "string" } } },
      user: { type: "object", required: ["login"], properties: { login: { type: "string" } } },
      issue: {
        allOf: [
          ref("basic-error"),
          {
            ...{ type: "object", required: ["number"], additionalProperties: false },
            properties: {
              number: { type: "integer" },
              assignee: { anyOf: [{ type: "null" }, ref("user")] },
              milestone: { $ref: "#/components/schemas/user", description: "Whose it is." },
              parent: ref("issue"),
            },
          },
        ],
      },
      event: {
        oneOf: [ref("push"), ref("star-event")],
        discriminator: {
          propertyName: "type",
          mapping: { push: "#/components/schemas/push", star: "star-event", unstar: "star-event" },
        },
      },
      push: { type: "object", properties: { type: { type: "string" }, size: { type: "integer" } } },
      "star-event": {
        type: "object",
        properties: { type: { type: "string" }, at: { type: "string" } },
      },
    },
    securitySchemes: { token: { type: "http", scheme: "bearer" } },
  },
};

/** OpenAPI 3.0, as a payment provider writes it: forms, deep objects, generated ids, `:verb`. */
export const PAYMENTS: Json = {
  openapi: "3.0.0",
  info: { title: "Payments", version: "2026-01-01.acacia" },
  servers: [{ url: "https://pay.example" }],
  security: [{ basicAuth: [] }, { bearerAuth: [] }],
  paths: {
    "/v1/customers": {
      get: {
        ...{ operationId: "GetCustomers", summary: "List all customers" },
        parameters: [
          {
            ...{ name: "created", in: "query", style: "deepObject", explode: true },
            schema: {
              anyOf: [
                { type: "object", properties: { gt: { type: "integer" } } },
                { type: "integer" },
              ],
            },
          },
          {
            ...{ name: "expand", in: "query", style: "deepObject", explode: true },
            schema: { type: "array", items: { type: "string", maxLength: 5000 } },
          },
        ],
        responses: { ...ok(ref("customer_list")), default: { description: "Error response." } },
      },
      post: {
        ...{ operationId: "PostCustomers", summary: "Create a customer" },
        requestBody: {
          content: {
            "application/x-www-form-urlencoded": {
              encoding: { metadata: { style: "deepObject", explode: true } },
              schema: {
                type: "object",
                properties: {
                  email: { type: "string" },
                  metadata: { type: "object", additionalProperties: { type: "string" } },
                  shipping: { anyOf: [{ type: "object" }, { type: "string", enum: [""] }] },
                },
              },
            },
          },
        },
        responses: { ...ok(ref("customer")), default: { description: "Error response." } },
      },
    },
    "/v1/customers/{customer}": {
      post: {
        ...{ operationId: "PostCustomersCustomer", summary: "Update a customer" },
        parameters: [{ name: "customer", in: "path", required: true, schema: { type: "string" } }],
        requestBody: {
          content: {
            "application/x-www-form-urlencoded": {
              schema: { type: "object", properties: { customer: { type: "string" } } },
            },
          },
        },
        responses: ok(ref("customer")),
      },
    },
    "/v1/charges/{charge}/capture": {
      post: {
        operationId: "PostChargesChargeCapture",
        responses: { ...ok(ref("customer")), "402": { description: "Card declined" } },
      },
    },
    "/v1/charges/{charge}:refund": { post: { responses: { "202": { description: "Accepted" } } } },
    "/v1/files": {
      post: {
        ...{ operationId: "PostFiles", summary: "Create a file" },
        requestBody: {
          required: true,
          content: {
            "multipart/form-data": {
              schema: {
                ...{ type: "object", required: ["file", "purpose"] },
                properties: {
                  file: { type: "string", format: "binary" },
                  purpose: { type: "string" },
                },
              },
            },
          },
        },
        responses: ok({ type: "object" }),
      },
    },
    "/v1/accounts/": { get: { responses: ok({ type: "object" }) } },
    "/v1/accounts": { get: { operationId: "listAccounts", responses: ok({ type: "object" }) } },
    "/v1/accounts/{id}": {
      delete: { operationId: "listAccounts", responses: ok({ type: "object" }) },
      head: { responses: { "200": { description: "there" } } },
    },
  },
  components: {
    schemas: {
      customer: {
        ...{ type: "object", required: ["id", "object"] },
        properties: {
          id: { type: "string", maxLength: 5000 },
          object: { type: "string", enum: ["customer"] },
          default_source: { nullable: true, anyOf: [{ type: "string" }, ref("source")] },
          owner: { allOf: [ref("customer")], nullable: true },
        },
        "x-expandableFields": ["default_source"],
      },
      source: {
        ...{ type: "object", title: "Source" },
        properties: { customer: ref("customer"), amount: { type: "integer", format: "unix-time" } },
      },
      customer_list: {
        type: "object",
        properties: {
          data: { type: "array", items: ref("customer") },
          has_more: { type: "boolean" },
        },
      },
    },
    securitySchemes: {
      basicAuth: { type: "http", scheme: "basic" },
      bearerAuth: { type: "http", scheme: "bearer" },
    },
  },
};

const RESOURCES = [
  ...["account", "invoice", "shipment", "parcel", "warehouse", "supplier", "contract", "ticket"],
  ...["employee", "department", "vehicle", "route", "campaign", "coupon", "device", "sensor"],
  ...["report", "subscription", "webhook", "policy"],
];
const ACTIONS = ["cancel", "archive", "approve", "publish", "assign"];

/** An API of ten operations for each of up to twenty resources, whose schemas know each other. */
export function manyOperations(resources: number = RESOURCES.length): Json {
  const names = RESOURCES.slice(0, resources);
  const paths: Record<string, Json> = {};
  for (const name of names) {
    const item = { parameters: [{ ...idOf("id"), schema: { type: "string" } }] };
    const body = { requestBody: { required: true, ...json(ref(name)) } };
    const tags = [name];
    paths[`/v2/${name}-records`] = {
      get: {
        tags,
        operationId: `list_${name}s`,
        responses: ok({ type: "array", items: ref(name) }),
      },
      post: { tags, operationId: `create_${name}`, ...body, responses: ok(ref(name)) },
    };
    paths[`/v2/${name}-records/{id}`] = {
      ...item,
      get: { tags, operationId: `get_${name}`, responses: ok(ref(name)) },
      put: { tags, operationId: `replace_${name}`, ...body, responses: ok(ref(name)) },
      delete: {
        tags,
        operationId: `delete_${name}`,
        responses: { "204": { description: "gone" } },
      },
    };
    for (const action of ACTIONS) {
      paths[`/v2/${name}-records/{id}/${action}`] = {
        ...item,
        post: { tags, operationId: `${action}_${name}`, responses: ok(ref(name)) },
      };
    }
  }
  const schemas = names.map((name, index): [string, Json] => [
    name,
    {
      ...{ type: "object", required: ["id"] },
      properties: {
        id: { type: "string" },
        created: { type: "string", format: "date-time" },
        amount: { type: "number", nullable: true },
        // Everything leads to everything, and back.
        next: ref(names[(index + 1) % names.length] ?? name),
        related: { type: "array", items: ref(names[(index * 7 + 3) % names.length] ?? name) },
      },
    },
  ]);
  return {
    openapi: "3.0.1",
    info: { title: "Everything", version: "2.0.0" },
    servers: [{ url: "https://everything.example" }],
    paths,
    components: { schemas: Object.fromEntries(schemas) },
  };
}
