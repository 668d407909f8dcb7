// Entries of the corpus: the traces of some ranks in one file, and programs that go through them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zero {

// A line that begins the next rank's file in an entry of the corpus.
inline constexpr std::string_view kNextRank = "# next rank\n";

// The ranks' files of an entry: what is between those lines. At most kMostFiles.
inline constexpr std::size_t kMostFiles = 8;
std::vector<std::string> files_of(std::string_view entry);

// DIRECTORY/rank0.jsonl
std::string rank_path(const std::string& directory, std::size_t rank);
// Writes `files` as the traces of rank 0, 1, ... and removes those of earlier calls.
void write_files(const std::string& directory, const std::vector<std::string>& files);

// A message for people is one short line that begins with the file. Throws std::logic_error.
void check_message(const std::string& message, const std::string& directory);

// Of a program's main: calls `check` with a folder of each entry's files, for all entries that the
// paths name, which may be folders of them. It returns the messages that a person would see. Prints
// them; the exit status is 1 when a check has thrown, or when there is no entry.
int for_each_entry(const std::vector<std::string>& paths,
                   const std::function<std::vector<std::string>(const std::string&)>& check);

}  // namespace zero
