// Loaded in front of MPI (LD_PRELOAD): sums the bytes of every message that a process really sends,
// and counts the collectives it calls, by what MPI is asked to do and nothing else.
//
// At MPI_Finalize it writes $ZERO_COUNT_DIR/rank<r>.json. It knows nothing of the programs: it
// stands between them and the library, through MPI's own profiling interface (PMPI).
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Counts {
  std::int64_t bytes = 0;       // of all messages to another rank
  std::int64_t messages = 0;    // to another rank
  std::int64_t collective = 0;  // calls that move data in a way that cannot be counted here
};

Counts& counts() {  // one rank, one thread
  static Counts all;
  return all;
}

void count_message(int count, MPI_Datatype type, int destination) {
  if (destination == MPI_PROC_NULL) return;
  int size = 0;
  MPI_Type_size(type, &size);
  counts().bytes += std::int64_t{count} * size;
  ++counts().messages;
}

void count_collective() { ++counts().collective; }

}  // namespace

extern "C" {

// ---- messages: counted --------------------------------------------------------------------------

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count_message(count, type, to);
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Ssend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count_message(count, type, to);
  return PMPI_Ssend(data, count, type, to, tag, comm);
}

int MPI_Bsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count_message(count, type, to);
  return PMPI_Bsend(data, count, type, to, tag, comm);
}

int MPI_Rsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count_message(count, type, to);
  return PMPI_Rsend(data, count, type, to, tag, comm);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  count_message(count, type, to);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  count_message(count, type, to);
  return PMPI_Issend(data, count, type, to, tag, comm, request);
}

int MPI_Ibsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  count_message(count, type, to);
  return PMPI_Ibsend(data, count, type, to, tag, comm, request);
}

int MPI_Irsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  count_message(count, type, to);
  return PMPI_Irsend(data, count, type, to, tag, comm, request);
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void* in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status* status) {
  count_message(out_count, out_type, to);
  return PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
                       comm, status);
}

int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int out_tag, int from,
                         int in_tag, MPI_Comm comm, MPI_Status* status) {
  count_message(count, type, to);
  return PMPI_Sendrecv_replace(data, count, type, to, out_tag, from, in_tag, comm, status);
}

// ---- everything else that could carry data: noticed ---------------------------------------------

int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  count_collective();  // may be started any number of times
  return PMPI_Send_init(data, count, type, to, tag, comm, request);
}

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm,
                   MPI_Win* window) {
  count_collective();  // one-sided transfers need a window
  return PMPI_Win_create(base, size, unit, info, comm, window);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                     MPI_Win* window) {
  count_collective();
  return PMPI_Win_allocate(size, unit, info, comm, base, window);
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* window) {
  count_collective();
  return PMPI_Win_allocate_shared(size, unit, info, comm, base, window);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  count_collective();
  return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  count_collective();
  return PMPI_Reduce(send, receive, count, type, op, root, comm);
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  count_collective();
  return PMPI_Allreduce(send, receive, count, type, op, comm);
}

int MPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  count_collective();
  return PMPI_Iallreduce(send, receive, count, type, op, comm, request);
}

int MPI_Reduce_scatter(const void* send, void* receive, const int counts_of_ranks[],
                       MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  count_collective();
  return PMPI_Reduce_scatter(send, receive, counts_of_ranks, type, op, comm);
}

int MPI_Reduce_scatter_block(const void* send, void* receive, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
  count_collective();
  return PMPI_Reduce_scatter_block(send, receive, count, type, op, comm);
}

int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                  int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  count_collective();
  return PMPI_Allgather(send, send_count, send_type, receive, receive_count, receive_type, comm);
}

int MPI_Allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                   const int receive_counts[], const int offsets[], MPI_Datatype receive_type,
                   MPI_Comm comm) {
  count_collective();
  return PMPI_Allgatherv(send, send_count, send_type, receive, receive_counts, offsets,
                         receive_type, comm);
}

int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                 int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  count_collective();
  return PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
}

int MPI_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive,
               int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
  count_collective();
  return PMPI_Gather(send, send_count, send_type, receive, receive_count, receive_type, root, comm);
}

int MPI_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
  count_collective();
  return PMPI_Scatter(send, send_count, send_type, receive, receive_count, receive_type, root,
                      comm);
}

int MPI_Finalize() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* const directory = std::getenv("ZERO_COUNT_DIR");
  const std::string path =
      std::string(directory ? directory : ".") + "/rank" + std::to_string(rank) + ".json";
  if (std::FILE* file = std::fopen(path.c_str(), "w")) {
    std::fprintf(file, "{\"bytes\": %lld, \"messages\": %lld, \"collectives\": %lld}\n",
                 static_cast<long long>(counts().bytes), static_cast<long long>(counts().messages),
                 static_cast<long long>(counts().collective));
    std::fclose(file);
  }
  return PMPI_Finalize();
}

}  // extern "C"
