// LinkedList: a list of objects that others own. Leaving it needs no search and no memory.
#pragma once

#include <boost/intrusive/list.hpp>

namespace postrider {

// An object is in a list by its own hook, and leaves it when it dies.
template <class Tag>
using Hook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<Tag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
template <class T, class Tag>
using LinkedList = boost::intrusive::list<T, boost::intrusive::base_hook<Hook<Tag>>,
                                          boost::intrusive::constant_time_size<false>>;

}  // namespace postrider
